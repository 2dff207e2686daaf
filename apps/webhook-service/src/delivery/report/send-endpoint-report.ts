import type { Endpoint, EndpointEventType } from '@leadwire/contracts'
import {
  newEventId,
  newTraceparent,
  type OpenTransaction,
  type Round,
  statement,
} from '@leadwire/service-kit'
import { storeForEndpoints } from '../../deliveries/store-for-endpoints'
import { deleteReports } from '../../endpoints/state/endpoint-reports'
import type { Dependencies } from '../../operation'

/**
 * The shortest time between two reports of the same type about an endpoint. A report covers everything since
 * the previous report.
 */
const INTERVAL_MS = 3_600_000

/**
 * SQL: whether a report is due. A due time is never set more than one interval ahead. If a due time is
 * further ahead, PostgreSQL's clock has gone back since the time was set, so the report is due now.
 */
const isDue = (column: string) =>
  `(${column} <= :now OR ${column} > :now::timestamptz + ${INTERVAL_MS} * interval '1 ms')`

interface DueReport {
  endpointId: number
  type: EndpointEventType
  accountId: number
}

const findDue = statement<DueReport>('find-due-report')`
  SELECT r.endpoint_id AS "endpointId", r.type, p.account_id AS "accountId"
  FROM endpoint_reports r LEFT JOIN endpoints p ON p.id = r.endpoint_id
  WHERE ${isDue('r.due_at')} ORDER BY r.due_at LIMIT 1`

type EndpointRow = Pick<Endpoint, 'id' | 'url' | 'enabled' | 'events'> & { description: string | null }

const lockEndpoints = statement<EndpointRow>('lock-endpoints-of-account')`
  SELECT id, url, description, enabled, events FROM endpoints
  WHERE deleted_at IS NULL
    AND id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = :accountId AND deleted_at IS NULL))
  ORDER BY id FOR SHARE`

interface Report {
  open: boolean
  sent: boolean
  count: number
  since: string
  at: string
  deliveryId: number | null
  sentAt: string | null
  recoverySentAt: string | null
}

const lockReport = statement<Report>('lock-report')`
  SELECT open, sent, count, since, at, delivery_id AS "deliveryId", sent_at AS "sentAt",
    recovery_sent_at AS "recoverySentAt"
  FROM endpoint_reports WHERE endpoint_id = :endpointId AND type = :type AND ${isDue('due_at')}
  FOR UPDATE SKIP LOCKED`

const postpone = statement('postpone-report')`
  UPDATE endpoint_reports SET due_at = :dueAt WHERE endpoint_id = :endpointId AND type = :type`

const markSent = statement('mark-report-sent')`
  UPDATE endpoint_reports SET due_at = NULL, count = 0, sent = open,
    sent_at = CASE WHEN :isRecovery THEN sent_at ELSE :now::timestamptz END,
    recovery_sent_at = CASE WHEN :isRecovery THEN :now ELSE recovery_sent_at END
  WHERE endpoint_id = :endpointId AND type = :type`

// Reads the key of the account from the event of its newest delivery, because webhook-service stores this key
// only with events.
const findAccountKey = statement<{ accountKey: string }>('account-key')`
  SELECT account_key AS "accountKey" FROM events WHERE id = (
    SELECT event_id FROM deliveries WHERE account_id = :accountId ORDER BY account_id DESC, id DESC LIMIT 1
  )`

/** Returns the type of event to send for a report. Undefined if the report is no longer true. */
const chooseType = (kind: EndpointEventType, { open, sent }: Report): EndpointEventType | undefined => {
  if (kind !== 'endpoint.failing') return kind
  if (open === sent) return undefined
  return open ? kind : 'endpoint.recovered'
}

/** Renders the `data` of the event. Shows only the host of the URL, because the path may contain secrets. */
const renderData = (type: EndpointEventType, report: Report, { id, url, description }: EndpointRow) => ({
  endpoint: { id, host: new URL(url).host, description },
  since: report.since,
  ...(type === 'endpoint.disabled' && { disabled_at: report.at }),
  ...(type === 'endpoint.recovered' && { recovered_at: report.at }),
  ...(type === 'delivery.exhausted' && { count: report.count, last_delivery_id: report.deliveryId }),
})

/**
 * Returns the time at which the report may be sent, or null if it may be sent now. At least one interval must
 * have passed since the last report of this type.
 */
const findNextTime = (type: EndpointEventType, report: Report, now: Date): Date | null => {
  const last = type === 'endpoint.recovered' ? report.recoverySentAt : report.sentAt
  if (last === null) return null
  const waitMs = Date.parse(last) + INTERVAL_MS - now.getTime()
  // If the wait is longer than the interval, PostgreSQL's clock has gone back since the last report. The
  // report is then sent now.
  return waitMs > 0 && waitMs <= INTERVAL_MS ? new Date(now.getTime() + waitMs) : null
}

/**
 * Sends the next due report. Locks endpoints before the report, as every transaction that locks both does.
 */
const sendNext = async (tx: OpenTransaction, now: Date): Promise<Round> => {
  const [due] = await findDue(tx, { now })
  if (!due) return false
  const { endpointId, type: kind, accountId } = due
  const endpoints = await lockEndpoints(tx, { accountId })
  const [report] = await lockReport(tx, { endpointId, type: kind, now })
  if (!report) return 'pause'

  const endpoint = endpoints.find(({ id }) => id === endpointId)
  if (!endpoint) {
    await deleteReports(tx, endpointId)
    return true
  }
  const type = chooseType(kind, report)
  if (!type) {
    await postpone(tx, { endpointId, type: kind, dueAt: null })
    return true
  }
  const nextTime = findNextTime(type, report, now)
  if (nextTime) {
    await postpone(tx, { endpointId, type: kind, dueAt: nextTime })
    return true
  }
  await markSent(tx, { endpointId, type: kind, now, isRecovery: type === 'endpoint.recovered' })
  const receivers = endpoints.filter(
    ({ id, enabled, events }) => id !== endpointId && enabled && events.includes(type),
  )
  const [known] = await findAccountKey(tx, { accountId })
  await storeForEndpoints(tx, {
    accountId,
    endpointIds: receivers.map(({ id }) => id),
    eventId: newEventId(),
    type,
    accountKey: known?.accountKey ?? '',
    leadReference: null,
    leadVersion: null,
    body: Buffer.from(JSON.stringify({ type, data: renderData(type, report, endpoint) })),
    traceparent: newTraceparent(),
    isSample: false,
    dueAt: now,
  })
  return true
}

/**
 * Sends one due report to the other enabled endpoints of the account that subscribe to its type. The event
 * has no number, because it is not in the log. Drops a report that is no longer true, for example because the
 * endpoint has recovered in the meantime.
 */
export const sendEndpointReport = async ({ database, clock, wake }: Dependencies): Promise<Round> => {
  const round = await database.transaction((tx) => sendNext(tx, clock.now()))
  if (round === true) wake('webhooks')
  return round
}
