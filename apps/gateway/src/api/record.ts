import type { Static, TObject } from '@sinclair/typebox'

/** `created_at` as services call it: `createdAt`. */
const camelCase = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Makes the record of a message: the fields of the schema, each by its snake_case name, null where the message has none. */
export const recordOf = <Schema extends TObject>(schema: Schema) => {
  const fields = Object.keys(schema.properties).map((name) => [name, camelCase(name)] as const)
  return (message: object): Static<Schema> =>
    Object.fromEntries(
      fields.map(([name, property]) => [name, (message as Record<string, unknown>)[property] ?? null]),
    ) as Static<Schema>
}
