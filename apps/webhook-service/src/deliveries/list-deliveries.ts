import type { ListDeliveriesRequest, ListDeliveriesResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { knex } from 'knex'
import { isUuid } from '../uuid'
import { DELIVERY_COLUMNS, deliveryOf } from './delivery-row'

const PER_PAGE = 20

/** Builds statements; it has no connection. */
const build = knex({ client: 'pg' })

// Ended, unless an attempt by hand is to come: then they show as pending.
const ENDED = ['delivered', 'exhausted']

/** A page of the account's deliveries, newest first, and how many there are in all that the filters let through. */
export const listDeliveries = async (
  { database }: { database: Database },
  request: ListDeliveriesRequest,
): Promise<ListDeliveriesResponse> => {
  const { accountId, endpointId, status, leadReference } = request
  if (leadReference !== undefined && !isUuid(leadReference)) return pageOf([], 0)
  const matching = () => {
    const query = build('deliveries').where({ account_id: accountId })
    if (endpointId !== undefined) query.where({ endpoint_id: endpointId })
    if (status === 'pending')
      query.where((either) =>
        either
          .where({ status })
          .orWhere((ended) => ended.whereNotNull('by_hand_at').whereIn('status', ENDED)),
      )
    else if (status !== undefined) query.where({ status })
    if (status !== undefined && ENDED.includes(status)) query.whereNull('by_hand_at')
    // Over the events, which have the index: one more on deliveries would be paid for with every attempt.
    if (leadReference !== undefined)
      query.whereIn('event_id', build('events').select('id').where({ lead_reference: leadReference }))
    return query
  }
  const rowsOf = <Row extends object>(built: ReturnType<typeof matching>) => {
    const { sql, bindings } = built.toSQL().toNative()
    return database.query<Row>({ text: sql, values: [...bindings] })
  }
  const page = Math.max(1, request.page)
  const [[count], rows] = await Promise.all([
    rowsOf<{ count: number }>(matching().count('* as count')),
    rowsOf<object>(
      matching()
        .select(build.raw(DELIVERY_COLUMNS))
        .orderBy('id', 'desc')
        .limit(PER_PAGE)
        .offset((page - 1) * PER_PAGE),
    ),
  ])
  return pageOf(rows, count?.count ?? 0)
}

const pageOf = (rows: object[], total: number): ListDeliveriesResponse => ({
  deliveries: rows.map(deliveryOf),
  total,
  perPage: PER_PAGE,
})
