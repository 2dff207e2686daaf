import { type EventReceiver, isUuid, type WebhooksServiceClient } from '@leadwire/contracts'
import { ServiceError, statement } from '@leadwire/service-kit'
import { type ActorRow, findActor } from '../../leads/history/list-lead-history'
import type { Operation } from '../../operation'

interface ReceiptRow extends ActorRow {
  lead_reference: string
  status: string
  requested_at: string
  finished_at: string | null
  /** JSON of ErasedPlace[] (`run-erasures.ts`). */
  erased: string
  /** The id of the event `lead.erased`. */
  event_id: string
  imports_until: string | null
  stream_until: string | null
  backups_until: string | null
}

const select = statement<ReceiptRow>('select-receipt')`
  SELECT l.reference AS lead_reference, CASE WHEN e.finished_at IS NULL THEN 'running' ELSE 'done' END AS status,
    e.requested_at, e.finished_at, e.places AS erased, e.event_id,
    c.token_id, t.name AS token_name, c.user_id, u.name AS user_name,
    (
      SELECT max(i.created_at) + interval '24 hours' FROM imports i
      WHERE i.account_id = l.account_id AND i.key IS NOT NULL AND i.created_at < e.requested_at
    ) AS imports_until,
    CASE WHEN e.stream_until > clock_timestamp() THEN e.stream_until END AS stream_until,
    e.finished_at + $3::int * interval '1 day' AS backups_until
  FROM leads l JOIN erasures e ON e.account_id = l.account_id AND e.lead_id = l.id
  LEFT JOIN lead_changes c ON c.account_id = l.account_id AND c.lead_id = l.id AND c.action = 'erased'
  LEFT JOIN tokens t ON t.id = c.token_id
  LEFT JOIN users u ON u.account_id = c.account_id AND u.id = c.user_id
  WHERE l.account_id = $1 AND l.reference = $2`

/** A delivery of the event `lead.erased`, as the receipt shows it. */
interface ErasureReceiver {
  endpoint_id: number
  delivery_id: number
  status: string
  delivered_at: string | null
}

interface Receivers {
  receivers: ErasureReceiver[] | null
  receivers_unavailable: string | null
}

const renderReceiver = ({ endpointId, deliveryId, status, deliveredAt }: EventReceiver): ErasureReceiver => ({
  endpoint_id: endpointId,
  delivery_id: deliveryId,
  status,
  delivered_at: deliveredAt ?? null,
})

const UNAVAILABLE = 'The deliveries of the event are unavailable at the moment. Try again later.'

const findReceivers = async (
  webhooks: Pick<WebhooksServiceClient, 'listEventReceivers'>,
  accountId: number,
  { event_id: eventId, finished_at }: ReceiptRow,
): Promise<Receivers> => {
  // The job publishes `lead.erased` at the end of the erasure, so before the end there are normally no
  // deliveries.
  if (finished_at === null) return { receivers: null, receivers_unavailable: null }
  try {
    const found = await webhooks.listEventReceivers({ accountId, eventId })
    const receivers = found.stored ? found.receivers.map(renderReceiver) : null
    return { receivers, receivers_unavailable: null }
  } catch (error) {
    // If webhook-service fails, still shows the rest of the receipt, which needs no other service.
    if (!(error instanceof ServiceError)) throw error
    return { receivers: null, receivers_unavailable: UNAVAILABLE }
  }
}

/**
 * Returns the receipt of a lead's erasure. Throws `not_found` if there is no such lead, or if its erasure was
 * never requested.
 */
export const retrieveErasure: Operation<'retrieveErasure'> = async (deps, { accountId, reference }) => {
  const values = [accountId, reference, deps.backupRetentionDays ?? null]
  const [row] = isUuid(reference) ? await select(deps.database, ...values) : []
  if (!row)
    throw new ServiceError('not_found', 'No erasure of a lead with this reference has been requested.')
  const { imports_until, stream_until, backups_until } = row
  // Lists where erased data may remain, and until when. None of this data can be read through the service. An
  // import ends within a day, and then its file is deleted. The list does not cover the running PostgreSQL:
  // its WAL and the pages of its tables keep old data until PostgreSQL overwrites the data, which may be at
  // any later time.
  const remains = [
    ...(imports_until ? [{ where: 'imports', until: imports_until }] : []),
    ...(stream_until ? [{ where: 'stream', until: stream_until }] : []),
    { where: 'wal', until: backups_until },
    { where: 'backups', until: backups_until },
  ]
  const { receivers, receivers_unavailable } = await findReceivers(deps.webhooks, accountId, row)
  const data = {
    lead_reference: row.lead_reference,
    status: row.status,
    actor: findActor(row),
    requested_at: row.requested_at,
    finished_at: row.finished_at,
    erased: JSON.parse(row.erased),
    receivers,
    receivers_unavailable,
    remains,
  }
  return { body: Buffer.from(JSON.stringify({ data })) }
}
