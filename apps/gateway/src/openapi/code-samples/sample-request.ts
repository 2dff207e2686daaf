export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** The request of a sample. */
export interface SampleRequest {
  method: string
  /** With the parameters in braces, and the query. */
  path: string
  needsToken: boolean
  json?: Json
  /** The text fields of a form; `FILE` is its field `file`. */
  form?: [name: string, value: string][]
  /** The media type of a body that is a file of text, `TEXT_FILE`. */
  textType?: string
  /** The status of success. */
  status: number
  /** Whether the response is a file. */
  isDownload: boolean
}

export const FILE = 'house.png'
export const DOWNLOAD = 'download'
export const TEXT_FILE = 'leads.csv'

interface Media {
  schema: { $ref?: string; format?: string }
  example?: Json
}

/** These operations need one of their optional parameters, which OpenAPI can't express. */
const NEEDED_PARAMETERS: Record<string, string> = { exportPerson: 'email' }

export interface DocumentedOperation {
  operationId: string
  parameters?: { name: string; example?: string }[]
  security?: unknown[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { content?: Record<string, Media> }>
}

export type Schemas = Record<string, { properties?: Record<string, { examples?: string[] }> }>

const formOf = ({ schema }: Media, schemas: Schemas) =>
  Object.entries(schemas[schema.$ref!.split('/').pop()!]!.properties!).flatMap(
    ([name, { examples }]): [string, string][] => (examples ? [[name, examples[0]!]] : []),
  )

const queryOf = ({ operationId, parameters = [] }: DocumentedOperation): string => {
  const needed = parameters.find(({ name }) => name === NEEDED_PARAMETERS[operationId])
  return needed ? `?${new URLSearchParams({ [needed.name]: needed.example! })}` : ''
}

export const sampleRequest = (
  operation: DocumentedOperation,
  { method, path, schemas }: { method: string; path: string; schemas: Schemas },
): SampleRequest => {
  const { security = [], requestBody, responses } = operation
  const json = requestBody?.content['application/json']?.example
  const form = requestBody?.content['multipart/form-data']
  const textType = Object.keys(requestBody?.content ?? {}).find((type) => type === 'text/csv')
  const status = Object.keys(responses).find((each) => each.startsWith('2'))!
  const answers = Object.values(responses[status]?.content ?? {})
  return {
    method: method.toUpperCase(),
    path: path + queryOf(operation),
    needsToken: security.length > 0,
    ...(json !== undefined && { json }),
    ...(form && { form: formOf(form, schemas) }),
    ...(textType && { textType }),
    status: Number(status),
    isDownload: answers.some(({ schema }) => schema.format === 'binary'),
  }
}

/** The path with an environment variable, written by `variable`, for each parameter. */
export const fillPath = (path: string, variable: (name: string) => string): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => variable(name.toUpperCase()))

/** Indents all lines but the first. */
export const indented = (text: string, by: number): string => text.replaceAll('\n', `\n${' '.repeat(by)}`)
