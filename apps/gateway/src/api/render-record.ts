import type { Static, TObject } from '@sinclair/typebox'

/** Returns the name that services use: `createdAt` for `created_at`. */
const camelCase = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/**
 * Makes the function that renders a service's message as the public record. The record has the fields of the
 * schema, in snake_case. A field that the message lacks is null.
 */
export const createRecordRenderer = <Schema extends TObject>(schema: Schema) => {
  const fields = Object.keys(schema.properties).map((name) => [name, camelCase(name)] as const)
  return (message: object): Static<Schema> =>
    Object.fromEntries(
      fields.map(([name, property]) => [name, (message as Record<string, unknown>)[property] ?? null]),
    ) as Static<Schema>
}
