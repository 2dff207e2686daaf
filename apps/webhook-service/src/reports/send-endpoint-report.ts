import { randomUUID } from 'node:crypto'
import type { Endpoint, EndpointEventType } from '@leadwire/contracts'
import { newTraceparent, type OpenTransaction, type Round, statement } from '@leadwire/service-kit'
import { storeForEndpoints } from '../deliveries/test-webhook-endpoint'
import { deleteReports } from '../endpoints/state/endpoint-reports'
import type { Dependencies } from '../operation'

/** Of one endpoint a type is sent once in this time; what happens meanwhile joins the next. */
const INTERVAL_MS = 3_600_000

const findDue = statement<{ endpointId: number; type: EndpointEventType; accountId: number }>(
  'find-due-report',
)`
  SELECT r.endpoint_id AS "endpointId", r.type, p.account_id AS "accountId"
  FROM endpoint_reports r LEFT JOIN endpoints p ON p.id = r.endpoint_id
  WHERE r.due_at <= $1 ORDER BY r.due_at LIMIT 1`

type EndpointRow = Pick<Endpoint, 'id' | 'url' | 'enabled' | 'events'> & { description: string | null }

const lockEndpoints = statement<EndpointRow>('lock-endpoints-of-account')`
  SELECT id, url, description, enabled, events FROM endpoints
  WHERE id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL)) AND deleted_at IS NULL
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
  SELECT open, sent, count, since, at, delivery_id AS "deliveryId", sent_at AS "sentAt", recovery_sent_at AS "recoverySentAt"
  FROM endpoint_reports WHERE endpoint_id = $1 AND type = $2 AND due_at <= $3 FOR UPDATE SKIP LOCKED`

const postpone = statement('postpone-report')`
  UPDATE endpoint_reports SET due_at = $3 WHERE endpoint_id = $1 AND type = $2`

const markSent = statement('mark-report-sent')`
  UPDATE endpoint_reports SET due_at = NULL, count = 0, sent = open,
    sent_at = CASE WHEN $4 THEN sent_at ELSE $3::timestamptz END, recovery_sent_at = CASE WHEN $4 THEN $3 ELSE recovery_sent_at END
  WHERE endpoint_id = $1 AND type = $2`

// webhook-service knows an account's key from its events.
const accountKeyOf = statement<{ accountKey: string }>('account-key')`
  SELECT account_key AS "accountKey" FROM events
  WHERE id = (SELECT event_id FROM deliveries WHERE account_id = $1 ORDER BY account_id DESC, id DESC LIMIT 1)`

/** What is sent of a report; undefined when it is no longer true. */
const typeOf = (kind: EndpointEventType, { open, sent }: Report): EndpointEventType | undefined => {
  if (kind !== 'endpoint.failing') return kind
  if (open === sent) return undefined
  return open ? kind : 'endpoint.recovered'
}

/** The URL may hold secrets behind its host. */
const dataOf = (type: EndpointEventType, report: Report, { id, url, description }: EndpointRow) => ({
  endpoint: { id, host: new URL(url).host, description },
  since: report.since,
  ...(type === 'endpoint.disabled' && { disabled_at: report.at }),
  ...(type === 'endpoint.recovered' && { recovered_at: report.at }),
  ...(type === 'delivery.exhausted' && { count: report.count, last_delivery_id: report.deliveryId }),
})

// Endpoints are locked before the report: a transaction that holds the lock of an endpoint may wait for one of a report.
const sendNext = async (tx: OpenTransaction, now: Date): Promise<Round> => {
  const [due] = await findDue(tx, now)
  if (!due) return false
  const { endpointId, type: kind, accountId } = due
  const endpoints = await lockEndpoints(tx, accountId)
  const [report] = await lockReport(tx, endpointId, kind, now)
  if (!report) return 'pause'
  const about = endpoints.find(({ id }) => id === endpointId)
  const type = typeOf(kind, report)
  const isRecovery = type === 'endpoint.recovered'
  const last = isRecovery ? report.recoverySentAt : report.sentAt
  const from = last === null ? 0 : Date.parse(last) + INTERVAL_MS
  if (!about) await deleteReports(tx, endpointId)
  else if (!type) await postpone(tx, endpointId, kind, null)
  else if (from > now.getTime()) await postpone(tx, endpointId, kind, new Date(from))
  else {
    await markSent(tx, endpointId, kind, now, isRecovery)
    const receivers = endpoints
      .filter(({ id, enabled, events }) => id !== endpointId && enabled && events.includes(type))
      .map(({ id }) => id)
    const [known] = await accountKeyOf(tx, accountId)
    const body = Buffer.from(JSON.stringify({ type, data: dataOf(type, report, about) }))
    const event = [
      randomUUID(),
      known?.accountKey ?? '',
      null,
      body,
      newTraceparent(),
      now,
      type,
      null,
      false,
    ]
    await storeForEndpoints(tx, accountId, receivers, ...event)
  }
  return true
}

/**
 * Sends one report that is due to the other endpoints of its account that subscribe to the type and are enabled. It has no number. The report
 * of an endpoint that recovered, or failed again, before it was sent is dropped.
 */
export const sendEndpointReport = async ({ database, clock, wake }: Dependencies): Promise<Round> => {
  const round = await database.transaction((tx) => sendNext(tx, clock.now()))
  if (round === true) wake('webhooks')
  return round
}
