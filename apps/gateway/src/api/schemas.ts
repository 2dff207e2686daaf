import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { PROBLEMS_PATH } from '../http/problem'
import { describe, optional, partial } from '../validation/fields'

/** An object schema that is a component of the OpenAPI document, by its title. */
export const named = <Fields extends TProperties>(title: string, fields: Fields) =>
  Type.Object(fields, { title })

/** The same of fields that all may be absent. */
export const namedPartial = <Fields extends TProperties>(title: string, fields: Fields) =>
  partial(fields, { title })

export const described = <Fields extends TProperties>(title: string, description: string, fields: Fields) =>
  Type.Object(fields, { title, description })

/** The file of a form. */
export const fileField = (description: string) =>
  Type.Unsafe({ type: 'string', format: 'binary', description })

/** A token by its name, where one did something. */
export const TokenName = named('TokenName', {
  id: Type.Integer({ examples: [1] }),
  name: Type.String({ examples: ['CRM'] }),
})

export const timestamp = (description: string) =>
  Type.String({ description, format: 'date-time', examples: ['2026-11-21T09:30:00.123456Z'] })

export const nullableTimestamp = (description: string, example: string | null = null) =>
  Type.Unsafe<string | null>({
    type: ['string', 'null'],
    format: 'date-time',
    description,
    examples: [example],
  })

export const nullableOf = (
  type: 'string' | 'integer' | 'number',
  description: string,
  example: string | number | null = null,
) => Type.Unsafe({ type: [type, 'null'], description, examples: [example] })

/** Of a record that says who did something. */
export const requestIdOfChange = nullableOf(
  'string',
  'The X-Request-Id of the request that did it.',
  '5d2f0c1e-6c1c-4e55-a1b1-6d9fb3f1c1a7',
)

export const orNull = (schema: TSchema, description: string) =>
  Type.Unsafe({ anyOf: [schema, { type: 'null' }], description })

/** What a successful response has; `types` are the media types of a file. */
export type Answer = { description: string; status?: 202 } & (
  | { schema: TSchema }
  | { types: readonly string[] }
)

/** `{"data": ...}` around a record. */
export const dataOf = (schema: TSchema, description: string) => ({
  description,
  schema: named(`${schema.title}Response`, { data: schema }),
})

/** `{"data": [...]}` around records. */
export const listOf = (schema: TSchema, description: string) => ({
  description,
  schema: named(`${schema.title}List`, { data: Type.Array(schema) }),
})

/** `{"data": [...], "next_cursor": ...}` around the records after a cursor. */
export const cursorPageOf = (schema: TSchema) =>
  named(`${schema.title}CursorPage`, {
    data: Type.Array(schema),
    next_cursor: nullableOf('string', 'Null when there are no more.'),
  })

/**
 * A page with the paging fields around its rows (interface: Get Leads), or the records after a cursor. It is one schema with optional
 * fields, because generated clients would have to unwrap each page of two schemas. `only` says when the last two fields are there.
 */
export const pageOrStepOf = (schema: TSchema, path: string, only = '') => {
  const address = `https://api.example.com${path}`
  const data = Type.Array(schema)
  const fields = {
    current_page: Type.Integer({ examples: [1] }),
    data,
    first_page_url: Type.String({ format: 'uri', examples: [`${address}?page=1`] }),
    from: nullableOf('integer', 'Position of the first row; null on an empty page.', 1),
    last_page: Type.Integer({ examples: [3] }),
    last_page_url: Type.String({ format: 'uri', examples: [`${address}?page=3`] }),
    next_page_url: nullableOf('string', 'Null on the last page and past it.', `${address}?page=2`),
    path: Type.String({ format: 'uri', examples: [address] }),
    per_page: Type.Integer({ examples: [20] }),
    prev_page_url: nullableOf('string', 'Null on the first page.'),
    to: nullableOf('integer', 'Position of the last row; null on an empty page.', 20),
    total: Type.Integer({ description: 'How many there are on all pages.', examples: [42] }),
  }
  const capped = Type.Boolean({ description: `Whether there may be more than \`total\`.${only}` })
  return Type.Object(
    {
      ...optional(fields),
      data,
      total_capped: Type.Optional(capped),
      next_cursor: Type.Optional(nullableOf('string', `Pass it for the next page; null at the end.${only}`)),
    },
    {
      title: `${schema.title}Page`,
      description:
        'With the parameter `cursor` it has `data` and `next_cursor` alone, else all of the paging fields.',
      dependentRequired: { current_page: Object.keys(fields) },
    },
  )
}

export const PageQuery = Type.Object({
  page: Type.Optional(
    Type.Integer({ minimum: 1, ...describe('Which page; anything that is no page number counts as 1.', 1) }),
  ),
})

export const leadReferenceSchema = (description?: string) =>
  Type.String({ format: 'uuid', ...describe(description, '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10') })

export const LeadParams = Type.Object({ reference: leadReferenceSchema("The lead's reference.") })

export const IdParams = Type.Object({ id: Type.Integer({ minimum: 1, examples: [1] }) })

/** Error documents (RFC 9457). */
export const Problem = described('Problem', 'What went wrong (RFC 9457).', {
  type: Type.String(
    describe(`The kind of problem, explained at ${PROBLEMS_PATH}.`, `${PROBLEMS_PATH}#invalid`),
  ),
  title: Type.String({ examples: ['Unprocessable Content'] }),
  status: Type.Integer({ examples: [422] }),
  detail: Type.String({ examples: ['The given data was invalid.'] }),
  request_id: Type.String(
    describe(
      'Quote it when you ask us about a failure; also in X-Request-Id.',
      '5d2f0c1e-6c1c-4e55-a1b1-6d9fb3f1c1a7',
    ),
  ),
  errors: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'With status 422: every invalid field, by its dotted path, with what is wrong with it.',
      examples: [{ postcode: ['The postcode format is invalid.'] }],
    }),
  ),
  oldest_cursor: Type.Optional(
    Type.String({ description: 'With status 410: the cursor before the oldest event that is kept.' }),
  ),
})
