import { statement } from '@leadwire/service-kit'
import { DELIVERY_COLUMNS, includesAttributes } from '../delivery-sql'

/**
 * An event that is not in the log of its account: a sample, a report about an endpoint, or a notification.
 */
export interface UnloggedEvent {
  accountId: number
  /** The endpoints that receive the event. */
  endpointIds: number[]
  eventId: string
  type: string
  accountKey: string
  leadReference: string | null
  leadVersion: number | null
  body: Buffer
  traceparent: string | null
  isSample: boolean
  /** When the deliveries are due. */
  dueAt: Date | string
}

/**
 * Stores an event and a delivery for each of its endpoints. Skips endpoints that were deleted or do not
 * exist. Stores nothing if no endpoint remains. Returns the deliveries. Their column `event` is NULL, because
 * the statement does not see the event that it stores.
 */
export const storeForEndpoints = statement<object, UnloggedEvent>('store-for-endpoints')`
  WITH receiving AS (
    SELECT id, account_id, enabled, include FROM endpoints
    WHERE account_id = :accountId AND id = ANY (:endpointIds::bigint[]) AND deleted_at IS NULL
    ORDER BY id FOR SHARE
  ), stored AS (
    INSERT INTO events (id, account_id, account_key, lead_reference, body, traceparent, type, lead_version, sample)
    SELECT :eventId::uuid, account_id, :accountKey, :leadReference::uuid, :body, :traceparent, :type, :leadVersion,
      :isSample
    FROM receiving LIMIT 1
    RETURNING id, account_id, lead_reference
  )
  INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at, with_attributes)
  SELECT s.account_id, s.id, r.id, s.lead_reference, CASE WHEN r.enabled THEN 'pending' ELSE 'held' END, :dueAt,
    ${includesAttributes('r')}
  FROM stored s CROSS JOIN receiving r
  RETURNING ${DELIVERY_COLUMNS}`
