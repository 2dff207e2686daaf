import type { Delivery } from '@leadwire/contracts'
import { type Round, statement } from '@leadwire/service-kit'
import type { Elsewhere } from '../elsewhere'

const AT_ONCE = 20

// After 2, 4, 8 … seconds, at last once a day.
const claim = statement<ClaimedRow>('claim-erasures-to-confirm')`
  UPDATE erasures e SET
    confirm_at = clock_timestamp() + greatest('2 seconds', least('1 day', clock_timestamp() - e.requested_at))
  FROM leads l
  WHERE e.ctid = ANY (ARRAY (
    SELECT ctid FROM erasures WHERE confirm_at <= now() ORDER BY confirm_at LIMIT ${AT_ONCE} FOR NO KEY UPDATE SKIP LOCKED
  )) AND l.account_id = e.account_id AND l.id = e.lead_id
  RETURNING e.account_id AS "accountId", e.lead_id AS "leadId", e.event_id AS "eventId", e.receivers, l.reference`

const record = statement('record-erasure-receivers')`
  UPDATE erasures SET receivers = $3, confirm_at = CASE WHEN $4 THEN confirm_at END
  WHERE account_id = $1 AND lead_id = $2`

interface ClaimedRow {
  accountId: number
  leadId: number
  eventId: string
  /** JSON; null until the event is stored. */
  receivers: string | null
  reference: string
}

/** A delivery of the event `lead.erased`, as the receipt shows it. */
interface ErasureReceiver {
  endpoint_id: number
  delivery_id: number
  status: string
  delivered_at: string | null
}

const OPEN = ['pending', 'held', 'exhausted']

const receiverOf = ({ id, endpointId, status, updatedAt }: Delivery): ErasureReceiver => ({
  ...{ endpoint_id: endpointId, delivery_id: id, status },
  delivered_at: status === 'delivered' ? updatedAt : null,
})

const confirm = async ({ database, webhooks }: Elsewhere, row: ClaimedRow): Promise<void> => {
  const { accountId, leadId, eventId, reference } = row
  const known: ErasureReceiver[] = JSON.parse(row.receivers ?? '[]')
  const { webhooks: events } = await webhooks.exportLeadEvents({ accountId, leadReference: reference })
  const stored = events.find(({ id }) => id === eventId)
  // It is on its way.
  if (!stored && row.receivers === null) return
  const found = (stored?.deliveries ?? []).map(({ delivery }) => receiverOf(delivery!))
  const isOpen = found.some(({ status }) => OPEN.includes(status))
  const byDelivery = new Map(known.map((receiver) => [receiver.delivery_id, receiver]))
  // What was delivered stays so, also when the delivery is removed for its age or attempted again.
  for (const receiver of found)
    if (!byDelivery.get(receiver.delivery_id)?.delivered_at) byDelivery.set(receiver.delivery_id, receiver)
  const receivers = [...byDelivery.values()].sort((one, other) => one.delivery_id - other.delivery_id)
  await record(database, accountId, leadId, JSON.stringify(receivers), isOpen)
}

/** Records in the receipts of a few erasures which endpoints have confirmed the event `lead.erased`. */
export const confirmOnce = async (deps: Elsewhere): Promise<Round> => {
  const rows = await claim(deps.database)
  for (const row of rows) await confirm(deps, row)
  return rows.length === AT_ONCE || (rows.length > 0 && 'pause')
}
