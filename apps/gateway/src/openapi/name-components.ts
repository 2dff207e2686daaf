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

const named = (components: Components, node: unknown): unknown => {
  if (Array.isArray(node)) return node.map((item) => named(components, item))
  if (!isObject(node)) return node
  const members = Object.entries(node).map(([key, member]) => [
    key,
    // Leaves examples unchanged, because an example may have a member `title`.
    key === 'example' || key === 'examples' ? member : named(components, member),
  ])
  const { title, ...schema } = Object.fromEntries(members) as Json
  const isNamed = typeof title === 'string' && 'type' in schema
  return isNamed ? place(components, 'schemas', title, schema) : Object.fromEntries(members)
}

/**
 * Turns every schema with a title, and every problem response, into a component. Generated clients then have
 * one named type for each component.
 */
export const nameComponents = <Document extends object>(document: Document): Document => {
  const components: Components = { schemas: {}, responses: {} }
  const found = named(components, document) as Json & { components: Json; paths: Json }
  const operations = Object.values(found.paths).flatMap((path) => Object.values(path as Json))
  for (const { responses } of operations as { responses: Record<string, Json> }[]) {
    for (const [status, response] of Object.entries(responses)) {
      if (isObject(response['content']) && 'application/problem+json' in response['content'])
        responses[status] = place(components, 'responses', `Problem${status}`, response)
    }
  }
  return { ...found, components: { ...found.components, ...components } } as unknown as Document
}
