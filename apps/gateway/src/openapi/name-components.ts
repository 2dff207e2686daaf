import { isDeepStrictEqual } from 'node:util'

type Json = Record<string, unknown>
type Components = Record<'schemas' | 'responses', Json>

const isObject = (node: unknown): node is Json => typeof node === 'object' && node !== null

const place = (components: Components, kind: keyof Components, name: string, content: Json) => {
  const { [name]: known = content } = components[kind]
  if (!isDeepStrictEqual(known, content)) throw new Error(`two ${kind} are called ${name}`)
  components[kind][name] = content
  return { $ref: `#/components/${kind}/${name}` }
}

// An example may have a member `title`.
const isExample = (key: string) => key === 'example' || key === 'examples'

const namedSchemas = (components: Components, node: unknown): unknown => {
  if (Array.isArray(node)) return node.map((item) => namedSchemas(components, item))
  if (!isObject(node)) return node
  const members = Object.entries(node).map(([key, member]) => [
    key,
    isExample(key) ? member : namedSchemas(components, member),
  ])
  const { title, ...schema } = Object.fromEntries(members) as Json
  const isNamed = typeof title === 'string' && 'type' in schema
  return isNamed ? place(components, 'schemas', title, schema) : Object.fromEntries(members)
}

const namedResponse = (components: Components, status: string, response: unknown) => {
  const { content } = response as { content?: Json }
  return content?.['application/problem+json']
    ? place(components, 'responses', `Problem${status}`, response as Json)
    : response
}

/** Makes components of schemas with a title and of problem responses, so that generated clients have one named type of each. */
export const nameComponents = <Document extends object>(document: Document): Document => {
  const components: Components = { schemas: {}, responses: {} }
  const named = namedSchemas(components, document) as Json & { components: Json; paths: Json }
  const operations = Object.values(named.paths).flatMap((path) => Object.values(path as Json))
  for (const { responses } of operations as { responses: Json }[]) {
    for (const [status, response] of Object.entries(responses)) {
      responses[status] = namedResponse(components, status, response)
    }
  }
  return { ...named, components: { ...named.components, ...components } } as unknown as Document
}
