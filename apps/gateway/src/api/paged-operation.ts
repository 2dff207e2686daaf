import { ServiceError } from '@leadwire/service-kit'
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { notes } from '../validation/fields'
import { type Call, operation } from './operation'
import { cursorPageJson, pageJson, pageNumber, refuseBeyond } from './page-json'
import { PageQuery, pageOrStepOf } from './schemas'

/** A page by its number, or a step of a walk: of rows with lower ids than the cursor. */
export type Place = { page: number } | { page: 0; cursor: number }

interface PagedOperation<Filters extends TObject> {
  url: string
  operationId: string
  tag: string
  summary: string
  /** What the rows are called. */
  what: string
  /** What the query may hold beside `page` and `cursor`. */
  filters: Filters
  /** The schema of a row. */
  record: TSchema
  /** The rows, and of a page how many there are on all: a count that may have stopped. */
  find: (
    call: Call<Static<Filters>>,
    asked: Static<Filters> & Place,
  ) => Promise<{
    records: object[]
    total: number
    totalCapped: boolean
    perPage: number
    nextCursor?: number | undefined
  }>
}

const Cursor = Type.Object({
  cursor: Type.Optional(
    // An id: the rows of the answer have lower ones.
    Type.String({
      pattern: '^([1-9][0-9]{0,14})?$',
      ...notes('Walks from row to row: an empty one begins, `next_cursor` goes on.'),
    }),
  ),
})

/**
 * A list under `/manage` with filters, newest first, page by page or as a walk by cursor. The addresses of other pages keep
 * the filters.
 */
export const pagedOperation = <Filters extends TObject>({
  url,
  filters,
  record,
  what,
  find,
  ...about
}: PagedOperation<Filters>) =>
  operation<Filters>({
    ...about,
    method: 'GET',
    url,
    description: `Newest first, 20 a page. Beyond 10,000 \`total\` is 10000 and \`total_capped\` true, and a later page is refused; a walk by \`cursor\` has them all, 100 a step, and repeats none while others are made.`,
    scope: 'manage',
    query: Type.Object({ ...filters.properties, ...PageQuery.properties, ...Cursor.properties }),
    checks: Type.Object({ ...filters.properties, ...Cursor.properties }) as unknown as Filters,
    answer: { description: 'A page, or with `cursor` a step of a walk.', schema: pageOrStepOf(record, url) },
    handler: async (call) => {
      const { request, check, addressOf } = call
      const { value, faults } = check()
      if (faults) throw ServiceError.invalid(faults)
      const { cursor, ...kept } = value as Static<Filters> & { cursor?: string }
      const asked = request.query as Record<string, unknown>
      const page = pageNumber(asked['page'])
      const place =
        'cursor' in asked ? { page: 0 as const, cursor: Number(cursor ?? Number.MAX_SAFE_INTEGER) } : { page }
      const found = await find(call, { ...(kept as Static<Filters>), ...place })
      const { records, total, totalCapped, perPage } = found
      const items = JSON.stringify(records)
      const next = found.nextCursor === undefined ? undefined : String(found.nextCursor)
      if ('cursor' in place) return cursorPageJson(items, next)
      refuseBeyond({ page, perPage, total, totalCapped, what })
      const query = Object.fromEntries(Object.entries(kept).map(([name, filter]) => [name, String(filter)]))
      const more = { total_capped: totalCapped, next_cursor: next ?? null }
      const path = `${addressOf(request)}${url}`
      return pageJson({ page, perPage, total, count: records.length, items, path, query, more })
    },
  })
