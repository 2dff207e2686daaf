import type { ListDeliveriesResponse } from '@leadwire/contracts'
import { describe, integer, optional, readPlaceId } from '@leadwire/requests'
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { findLead } from './find-lead'
import { type About, type Call, operation } from './operation'
import { cursorPageJson, filteredPageJson, pageNumber } from './page-json'
import { cursorPageSchema, PageQuery, pagedListSchema } from './schemas'

const cursorWith = (description: string) => ({
  cursor: Type.Optional(Type.String({ format: 'cursor', ...describe(description) })),
})

const MOST_PER_PAGE = 100

const LIMIT = Type.Object(
  optional({
    limit: integer('Maximum number of records. Default 100.', 100, { minimum: 1, maximum: MOST_PER_PAGE }),
  }),
)

type Query<Filters extends TObject> = Static<Filters> & { cursor?: string }

interface CursorList<Filters extends TObject> extends About {
  /** The schema of the query, without `cursor`. */
  filters?: Filters
  record: TSchema
  /** The description of the parameter `cursor`. */
  cursor?: string
  answer?: string
  /**
   * Finds the records that follow `place`, the decoded cursor. Finds the first records if `place` is
   * undefined.
   */
  find: (call: Call<unknown>, filters: Static<Filters>, place: string | undefined) => Promise<Found>
}

/** A JSON array of records, and the position from which the next response continues. */
interface Found {
  items: Uint8Array | string
  nextBefore?: string | number | undefined
  nextAfter?: string | number | undefined
}

/**
 * Makes an operation that lists records by cursor. Each response contains the cursor for the next request.
 */
export const listOperation = <Filters extends TObject = TObject>({
  filters = Type.Object({}) as Filters,
  record,
  cursor: description = 'The `next_cursor` of the previous response. Omit it for the newest records.',
  answer = 'The newest records, or the records after the cursor.',
  find,
  ...about
}: CursorList<Filters>) => {
  const query = Type.Object({ ...filters.properties, ...cursorWith(description) })
  return operation({
    ...about,
    query,
    answer: { description: answer, schema: cursorPageSchema(record) },
    handler: async (call) => {
      const lookUp = about.route.includes('/:reference') ? () => findLead(call) : undefined
      const { cursor, ...given } = (await call.valid(lookUp)) as Query<Filters>
      const { items, nextBefore, nextAfter } = await find(call, given as Static<Filters>, cursor)
      return cursorPageJson(items, nextBefore ?? nextAfter)
    },
  })
}

type RecordList = Pick<CursorList<TObject>, 'record'> &
  About & {
    /** Finds the records with ids above `after`, ordered by id. */
    find: (
      call: Call<unknown>,
      asked: { accountId: number; after: number | undefined; limit: number },
    ) => Promise<{ records: object[]; nextAfter?: number | undefined }>
  }

/** Makes an operation that lists an account's records, oldest first, by `limit` and `cursor`. */
export const recordListOperation = ({ description, find, ...about }: RecordList) =>
  listOperation({
    ...about,
    filters: LIMIT,
    description: [
      description,
      'Oldest first, up to `limit` per response. Pass `next_cursor` as `cursor` to get the next records.',
    ]
      .filter(Boolean)
      .join('\n\n'),
    cursor: 'The `next_cursor` of the previous response. Omit it for the oldest records.',
    answer: 'The oldest records, or the records after the cursor.',
    find: async (call, { limit = MOST_PER_PAGE }, place) => {
      const asked = { accountId: call.accountId, after: readPlaceId(place), limit }
      const { records, nextAfter } = await find(call, asked)
      return { items: JSON.stringify(records), nextAfter }
    },
  })

type LeadList = About & {
  record: TSchema
  find: (
    call: Call<unknown>,
    asked: { accountId: number; reference: string; before: number | undefined },
  ) => Promise<Found>
}

const STEPS = 'Newest first, up to 100 per response. Pass `next_cursor` as `cursor` to get the next records.'

/** Makes an operation that lists the records of a lead. */
export const leadListOperation = ({ description, find, ...about }: LeadList) =>
  listOperation({
    ...about,
    description: [description, STEPS].filter(Boolean).join('\n\n'),
    find: (call, _filters, place) => find(call, { ...call.leadKey(), before: readPlaceId(place) }),
  })

interface PagedList<Filters extends TObject> extends About {
  record: TSchema
  /** The schema of the query, without `cursor` and `page`. */
  filters: Filters
  /** The name of the rows in messages, such as `deliveries`. */
  what: string
  /** Finds a page of rows, or the rows with ids below `cursor`. `total` may be capped. */
  find: (
    call: Call<unknown>,
    asked: Static<Filters> & { page: number; cursor?: number },
  ) => Promise<{ records: object[] } & Omit<ListDeliveriesResponse, 'deliveries'>>
}

/** Makes an operation that lists records by `page`, or by `cursor` if the query has a cursor. */
export const pagedListOperation = <Filters extends TObject>({
  route,
  filters,
  record,
  what,
  description = '',
  find,
  ...about
}: PagedList<Filters>) => {
  const follow =
    'Selects reading by cursor instead of by page. Send an empty `cursor` to get the first records, and then each `next_cursor` to get the next records.'
  const cursor = cursorWith(follow)
  return operation({
    ...about,
    route,
    description:
      `Newest first, 20 per page. \`page\` reaches only the first 10,000 records. If more records match, \`total\` is 10000 and \`total_capped\` is true. Use \`cursor\` to read all records, 100 per response. Reading by cursor returns no record twice, even if records are added meanwhile. ${description}`.trim(),
    query: Type.Object({ ...filters.properties, ...PageQuery.properties, ...cursor }),
    checks: Type.Object({ ...filters.properties, ...cursor }),
    answer: {
      description: 'A page of records, or with `cursor` the next records.',
      schema: pagedListSchema(record, route.split(' ')[1]!),
    },
    handler: async (call) => {
      const { cursor, ...kept } = (await call.valid()) as Query<Filters>
      const query = call.request.query as Record<string, unknown>
      const step = 'cursor' in query && { page: 0, cursor: readPlaceId(cursor) ?? Number.MAX_SAFE_INTEGER }
      const place = step || { page: pageNumber(query['page']) }
      const { records, ...found } = await find(call, { ...(kept as Static<Filters>), ...place })
      const items = JSON.stringify(records)
      if (step) return cursorPageJson(items, found.nextCursor)
      const page = { ...found, page: place.page, count: records.length, items }
      return filteredPageJson(call, page, { filters: kept, what })
    },
  })
}
