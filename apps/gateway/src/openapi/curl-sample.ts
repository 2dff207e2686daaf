interface Media {
  schema: { $ref?: string; format?: string }
  example?: unknown
}

export interface DocumentedOperation {
  operationId: string
  parameters?: { name: string; example?: string }[]
  security?: unknown[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { content?: Record<string, Media> }>
}

export type Schemas = Record<string, { properties?: Record<string, { examples?: string[] }> }>

/**
 * The optional parameter that the sample of an operation must send. The operation needs at least one of its
 * optional parameters, but OpenAPI cannot express this rule.
 */
const NEEDED_PARAMETERS: Record<string, string> = { exportPerson: 'email' }

const buildQuery = ({ operationId, parameters = [] }: DocumentedOperation): string => {
  const needed = parameters.find(({ name }) => name === NEEDED_PARAMETERS[operationId])
  return needed ? `?${new URLSearchParams({ [needed.name]: needed.example! })}` : ''
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const buildBodyOptions = (content: Record<string, Media>, schemas: Schemas): string[] => {
  const json = content['application/json']?.example
  if (json !== undefined) {
    const text = quoted(JSON.stringify(json, null, 2)).replaceAll('\n', '\n  ')
    return [`-H 'Content-Type: application/json'`, `-d ${text}`]
  }
  if ('text/csv' in content) return [`-H 'Content-Type: text/csv'`, '--data-binary @leads.csv']
  const { $ref = '' } = content['multipart/form-data']?.schema ?? {}
  if (!$ref) return []
  const fields = Object.entries(schemas[$ref.split('/').pop()!]!.properties!).flatMap(
    ([name, { examples }]) => (examples ? [`-F ${quoted(`${name}=${examples[0]}`)}`] : []),
  )
  return [...fields, '-F file=@house.png']
}

/**
 * Returns a curl command that calls an operation with the example of its body. The command has shell
 * variables for the base URL, the token and the path parameters.
 */
export const curlSample = (
  operation: DocumentedOperation,
  { method, path, schemas }: { method: string; path: string; schemas: Schemas },
): string => {
  const { security = [], requestBody, responses } = operation
  const address = (path + buildQuery(operation)).replace(/\{(\w+)\}/g, (_, name) => `$${name.toUpperCase()}`)
  const body = buildBodyOptions(requestBody?.content ?? {}, schemas)
  const isImplied = method === (body.length > 0 ? 'post' : 'get')
  const [, answer] = Object.entries(responses).find(([status]) => status.startsWith('2'))!
  const isFile = Object.values(answer.content ?? {}).some(({ schema }) => schema.format === 'binary')
  return [
    `curl -sS --fail-with-body ${isImplied ? '' : `-X ${method.toUpperCase()} `}"$BASE_URL${address}"`,
    ...(security.length > 0 ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...body,
    ...(isFile ? ['-o download || cat download'] : []),
  ].join(' \\\n  ')
}
