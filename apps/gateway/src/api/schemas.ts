import { describe, enumeration, optional, partial } from '@leadwire/requests'
import { PROBLEMS_PATH } from '@leadwire/service-kit'
import { type TProperties, type TSchema, Type } from '@sinclair/typebox'

/** Makes an object schema that becomes a component of the OpenAPI document, named after its title. */
export const named = <Fields extends TProperties>(title: string, fields: Fields) =>
  Type.Object(fields, { title })

/** Makes a schema as `named` does, with all fields optional. */
export const namedPartial = <Fields extends TProperties>(title: string, fields: Fields) =>
  partial(fields, { title })

export const described = <Fields extends TProperties>(title: string, description: string, fields: Fields) =>
  Type.Object(fields, { title, description })

/** Makes the schema of the form field that holds the file. */
export const fileField = (description: string) =>
  Type.Unsafe({ type: 'string', format: 'binary', description })

/** The id and the name of the token that made a change. */
export const TokenName = named('TokenName', {
  id: Type.Integer({ examples: [1] }),
  name: Type.String({ examples: ['CRM'] }),
})

/** The id and the name of a user. */
export const UserName = named('UserName', {
  id: Type.Integer({ examples: [1] }),
  name: Type.String({ examples: ['Grace Hopper'] }),
})

/** The user or the token that made a change. */
export const Actor = named('Actor', {
  type: enumeration(['user', 'token'], undefined, 'user'),
  id: Type.Integer({ examples: [1] }),
  name: Type.String({ examples: ['Grace Hopper'] }),
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

export const nullableScalar = (
  type: 'string' | 'integer' | 'number',
  description: string,
  example: string | number | null = null,
) => Type.Unsafe({ type: [type, 'null'], description, examples: [example] })

/** The schema of the id of the request that made a change. */
export const requestIdOfChange = nullableScalar(
  'string',
  'The X-Request-Id of the request that made the change. null if no request is recorded.',
  '5d2f0c1e-6c1c-4e55-a1b1-6d9fb3f1c1a7',
)

export const orNull = (schema: TSchema, description: string) =>
  Type.Unsafe({ anyOf: [schema, { type: 'null' }], description })

/** The content of a successful response. For a file, `types` lists its media types. */
export type Answer = { description: string; status?: 202 } & (
  | { schema: TSchema }
  | { types: readonly string[] }
)

/** Describes the response `{"data": ...}` with one record. */
export const recordResponse = (schema: TSchema, description: string) => ({
  description,
  schema: named(`${schema.title}Response`, { data: schema }),
})

/** Describes the response `{"data": [...]}` with all records. */
export const listResponse = (schema: TSchema, description: string) => ({
  description,
  schema: named(`${schema.title}List`, { data: Type.Array(schema) }),
})

/** Makes the schema of `{"data": [...], "next_cursor": ...}` with the records after a cursor. */
export const cursorPageSchema = (schema: TSchema) =>
  named(`${schema.title}CursorPage`, {
    data: Type.Array(schema),
    next_cursor: nullableScalar(
      'string',
      'Pass this value as `cursor` to get the next records. null at the end.',
    ),
  })

/**
 * Makes the schema of two responses: a page with the paging fields of the lead API, and the records after a
 * cursor. Both responses share one schema with optional fields, because generated clients would have to
 * unwrap a choice of two schemas. `only` is a sentence that says when `total_capped` and `next_cursor` are
 * present.
 */
export const pagedListSchema = (schema: TSchema, path: string, only = '') => {
  const address = `https://api.example.com${path}`
  const data = Type.Array(schema)
  const fields = {
    current_page: Type.Integer({ examples: [1] }),
    data,
    first_page_url: Type.String({ format: 'uri', examples: [`${address}?page=1`] }),
    from: nullableScalar(
      'integer',
      'Position, in the whole list, of the first row of this page. null on an empty page.',
      1,
    ),
    last_page: Type.Integer({ examples: [3] }),
    last_page_url: Type.String({ format: 'uri', examples: [`${address}?page=3`] }),
    next_page_url: nullableScalar(
      'string',
      'URL of the next page. null on the last page, and on pages past the end.',
      `${address}?page=2`,
    ),
    path: Type.String({ format: 'uri', examples: [address] }),
    per_page: Type.Integer({ examples: [20] }),
    prev_page_url: nullableScalar('string', 'URL of the previous page. null on the first page.'),
    to: nullableScalar(
      'integer',
      'Position, in the whole list, of the last row of this page. null on an empty page.',
      20,
    ),
    total: Type.Integer({
      description: 'Number of records on all pages. If `total_capped` is true, more records may exist.',
      examples: [42],
    }),
  }
  const capped = Type.Boolean({ description: `Whether more than \`total\` records may exist.${only}` })
  return Type.Object(
    {
      ...optional(fields),
      data,
      total_capped: Type.Optional(capped),
      next_cursor: Type.Optional(
        nullableScalar(
          'string',
          `Pass this value as \`cursor\` to get the next records. null at the end.${only}`,
        ),
      ),
    },
    {
      title: `${schema.title}Page`,
      description:
        'With `cursor`, the response has only `data` and `next_cursor`. Without `cursor`, the response has all paging fields, such as `current_page` and `total`.',
      dependentRequired: { current_page: Object.keys(fields) },
    },
  )
}

export const PageQuery = Type.Object({
  page: Type.Optional(
    Type.Integer({ minimum: 1, ...describe('Number of the page. An invalid page number counts as 1.', 1) }),
  ),
})

export const leadReferenceSchema = (description?: string) =>
  Type.String({ format: 'uuid', ...describe(description, '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10') })

export const LeadParams = Type.Object({ reference: leadReferenceSchema('The reference of the lead.') })

export const IdParams = Type.Object({ id: Type.Integer({ minimum: 1, examples: [1] }) })

export const Problem = described('Problem', 'A problem document (RFC 9457).', {
  type: Type.String(
    describe(`The kind of problem. ${PROBLEMS_PATH} explains each kind.`, `${PROBLEMS_PATH}#invalid`),
  ),
  title: Type.String({ examples: ['Unprocessable Content'] }),
  status: Type.Integer({ examples: [422] }),
  detail: Type.String({ examples: ['The given data was invalid.'] }),
  request_id: Type.String(
    describe(
      'The ID of the request. Quote it in support requests. Also sent as X-Request-Id.',
      '5d2f0c1e-6c1c-4e55-a1b1-6d9fb3f1c1a7',
    ),
  ),
  errors: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description:
        'Error messages of each invalid field, by the dotted path of the field. Present with status 422.',
      examples: [{ postcode: ['The postcode format is invalid. Use a UK postcode such as SW1A 1AA.'] }],
    }),
  ),
  oldest_cursor: Type.Optional(
    Type.String({
      description:
        'Pass this value as `after` to continue with the events that are still stored. Present with status 410.',
    }),
  ),
})
