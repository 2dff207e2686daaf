import { curl } from './curl'
import { node } from './node'
import { php } from './php'
import { python } from './python'
import { type DocumentedOperation, type Schemas, sampleRequest } from './sample-request'

const LANGUAGES = [
  { lang: 'shell', label: 'curl', write: curl },
  { lang: 'javascript', label: 'Node', write: node },
  { lang: 'php', label: 'PHP', write: php },
  { lang: 'python', label: 'Python', write: python },
]

interface Document {
  paths: Record<string, Record<string, DocumentedOperation & { 'x-codeSamples'?: object[] }>>
  components: { schemas: Schemas }
}

/** Adds programs that a reader can run to each operation of an OpenAPI document. */
export const addCodeSamples = ({ paths, components: { schemas } }: Document): void => {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const request = sampleRequest(operation, { method, path, schemas })
      operation['x-codeSamples'] = LANGUAGES.map(({ lang, label, write }) => ({
        lang,
        label,
        source: write(request),
      }))
    }
  }
}
