import type { ListDeliveriesResponse } from '@leadwire/contracts'
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { idOf } from '../validation/cursor'
import { describe } from '../validation/fields'
import { type About, type Call, operation } from './operation'
import { cursorPageJson, filteredPageJson, pageNumber } from './page-json'
import { referenceErrors } from './reference-errors'
import { cursorPageOf, PageQuery, pageOrStepOf } from './schemas'

const cursorWith = (description: string) => ({
  cursor: Type.Optional(Type.String({ format: 'cursor', ...describe(description) })),
})

type Query<Filters extends TObject> = Static<Filters> & { cursor?: string }

interface CursorList<Filters extends TObject> extends About {
  /** What the query may hold beside `cursor`. */
  filters?: Filters
  record: TSchema
  /** What the parameter `cursor` is. */
  cursor?: string
  answer?: string
  /** The records that follow the place of a cursor. */
  find: (call: Call<unknown>, filters: Static<Filters>, place: string | undefined) => Promise<Found>
}

/** A JSON array of records, and the place from which further ones are listed. */
interface Found {
  items: Uint8Array | string
  nextBefore?: string | number | undefined
  nextAfter?: number | undefined
}

/** A list without pages: each response names the cursor of the next. */
export const listOperation = <Filters extends TObject = TObject>({
  filters = Type.Object({}) as Filters,
  record,
  cursor: description = 'The `next_cursor` of the answer before. Without it the newest records come.',
  answer = 'The newest, or those that follow the cursor.',
  find,
  ...about
}: CursorList<Filters>) => {
  const query = Type.Object({ ...filters.properties, ...cursorWith(description) })
  return operation({
    ...about,
    query,
    answer: { description: answer, schema: cursorPageOf(record) },
    handler: async (call) => {
      const { cursor, ...given } = (await call.valid(() => referenceErrors(call))) as Query<Filters>
      const { items, nextBefore, nextAfter } = await find(call, given as Static<Filters>, cursor)
      return cursorPageJson(items, nextBefore ?? nextAfter)
    },
  })
}

type LeadList = About & {
  record: TSchema
  find: (
    call: Call<unknown>,
    asked: { accountId: number; reference: string; before: number | undefined },
  ) => Promise<Found>
}

const STEPS =
  'Newest first, at most 100 in an answer. The `next_cursor` of an answer asks for those that follow.'

/** A list of what belongs to a lead. */
export const leadListOperation = ({ description, find, ...about }: LeadList) =>
  listOperation({
    ...about,
    description: [description, STEPS].filter(Boolean).join('\n\n'),
    find: (call, _filters, place) => find(call, { ...call.leadKey(), before: idOf(place) }),
  })

interface PagedList<Filters extends TObject> extends About {
  record: TSchema
  /** What the query may hold beside `cursor` and `page`. */
  filters: Filters
  /** What the rows are called. */
  what: string
  /** A page, or the rows with lower ids than the cursor. `total` is a count that may have stopped. */
  find: (
    call: Call<unknown>,
    asked: Static<Filters> & { page: number; cursor?: number },
  ) => Promise<{ records: object[] } & Omit<ListDeliveriesResponse, 'deliveries'>>
}

/** A list by pages, or by cursor where the query has one. */
export const pagedListOperation = <Filters extends TObject>({
  route,
  filters,
  record,
  what,
  description = '',
  find,
  ...about
}: PagedList<Filters>) => {
  const follow = 'Leave it empty for the first rows; pass `next_cursor` for those that follow.'
  const cursor = cursorWith(follow)
  return operation({
    ...about,
    route,
    description:
      `Newest first, 20 a page. Beyond 10,000 \`total\` is 10000 and \`total_capped\` true, and a later page is refused; with \`cursor\` all can be read, 100 at a time, and none twice while others are created. ${description}`.trim(),
    query: Type.Object({ ...filters.properties, ...PageQuery.properties, ...cursor }),
    checks: Type.Object({ ...filters.properties, ...cursor }),
    answer: {
      description: 'A page, or with `cursor` the rows that follow it.',
      schema: pageOrStepOf(record, route.split(' ')[1]!),
    },
    handler: async (call) => {
      const { cursor, ...kept } = (await call.valid()) as Query<Filters>
      const query = call.request.query as Record<string, unknown>
      const step = 'cursor' in query && { page: 0, cursor: idOf(cursor) ?? Number.MAX_SAFE_INTEGER }
      const place = step || { page: pageNumber(query['page']) }
      const { records, ...found } = await find(call, { ...(kept as Static<Filters>), ...place })
      const items = JSON.stringify(records)
      if (step) return cursorPageJson(items, found.nextCursor)
      const page = { ...found, page: place.page, count: records.length, items }
      return filteredPageJson(call, page, { filters: kept, what })
    },
  })
}
