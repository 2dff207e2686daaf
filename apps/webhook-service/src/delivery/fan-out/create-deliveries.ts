import { columnsByName, type OpenTransaction, statement } from '@leadwire/service-kit'
import { includesAttributes } from '../../delivery-sql'
import { takesEvent } from '../../endpoints/filter'

/** The columns of an event that the fan-out reads. */
export interface FanOutEvent {
  id: string
  accountId: number
  leadReference: string | null
  type: string
  test: boolean
  /** JSON of the values that filters compare. Null passes every filter. */
  match: string | null
}

/** An endpoint whose row is locked until the transaction ends. */
export interface LockedEndpoint {
  endpointId: number
  accountId: number
  enabled: boolean
  includesAttributes: boolean
  url: string
  sealedSecrets: Buffer | null
}

/**
 * A delivery to create. `claim` is the number of its claim, or null to create the delivery without a claim.
 */
export interface NewDelivery {
  event: FanOutEvent
  endpoint: LockedEndpoint
  claim: number | null
}

export interface CreatedDelivery {
  id: number
  eventId: string
  endpointId: number
}

// The subquery finds the endpoints by account, and the outer query locks them in the order of their ids. A
// single query would read the endpoints of all accounts, because sorts are forbidden (`PLAN_SETTINGS`). The
// timeout of 100 ms is enough, because a change of an endpoint normally locks it only for milliseconds.
const lockEndpoints = statement<LockedEndpoint>('lock-endpoints-of-accounts')`
  SELECT id AS "endpointId", account_id AS "accountId", enabled,
    ${includesAttributes('endpoints')} AS "includesAttributes", url, sealed_secrets AS "sealedSecrets"
  FROM set_config('lock_timeout', '100ms', true), endpoints
  WHERE deleted_at IS NULL AND id = ANY (ARRAY (
    SELECT p.id FROM unnest(:accountIds::bigint[]) AS a (id) CROSS JOIN LATERAL (
      SELECT id FROM endpoints WHERE account_id = a.id AND deleted_at IS NULL ORDER BY account_id, id LIMIT :limit::bigint
    ) p
  ))
  ORDER BY id FOR SHARE OF endpoints`

const selectReceivers = statement<{ eventId: string; endpointId: number }>('find-receivers')`
  SELECT e.id AS "eventId", p.id AS "endpointId"
  FROM unnest(:id::uuid[], :accountId::bigint[], :type::text[], :test::boolean[], :match::jsonb[])
    AS e (id, account_id, type, test, match)
  CROSS JOIN LATERAL (
    SELECT * FROM endpoints WHERE account_id = e.account_id AND deleted_at IS NULL
    ORDER BY account_id, id LIMIT :limit::bigint
  ) p
  WHERE ${takesEvent('p', 'e')}`

interface Receivers {
  /**
   * Maps the id of each event to the endpoints that receive the event, in the order of the endpoints' ids.
   */
  receivers: Map<string, LockedEndpoint[]>
  /** Returns whether an account has over `mostEndpoints` endpoints. Its receivers are then incomplete. */
  isCut: (accountId: number) => boolean
}

/**
 * Finds the endpoints that receive each event. Locks the endpoints of the accounts against changes until the
 * transaction ends, so that no pending delivery is created for an endpoint that is being disabled. Rejects if
 * an endpoint stays locked for 100 ms (`isTimedOut`), so that other accounts do not wait. Later statements of
 * the transaction have the same limit.
 */
export const findReceivers = async (
  tx: OpenTransaction,
  events: FanOutEvent[],
  { mostEndpoints = Number.MAX_SAFE_INTEGER - 1 }: { mostEndpoints?: number } = {},
): Promise<Receivers> => {
  const accountIds = [...new Set(events.map(({ accountId }) => accountId))]
  // Reads one endpoint more than the limit, which shows that an account exceeds the limit.
  const limit = mostEndpoints + 1
  const [endpoints, found] = await Promise.all([
    lockEndpoints(tx, { accountIds, limit }),
    selectReceivers(tx, { ...columnsByName(events, 'id', 'accountId', 'type', 'test', 'match'), limit }),
  ])
  const endpointIdsByEvent = new Map<string, Set<number>>(events.map(({ id }) => [id, new Set()]))
  for (const { eventId, endpointId } of found) endpointIdsByEvent.get(eventId)!.add(endpointId)
  const receivers = events.map(({ id }) => {
    const endpointIds = endpointIdsByEvent.get(id)!
    return [id, endpoints.filter(({ endpointId }) => endpointIds.has(endpointId))] as const
  })
  const countEndpoints = (accountId: number) =>
    endpoints.filter((endpoint) => endpoint.accountId === accountId).length
  return { receivers: new Map(receivers), isCut: (accountId) => countEndpoints(accountId) > mostEndpoints }
}

const insert = statement<CreatedDelivery>('create-deliveries')`
  INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, with_attributes, status,
    next_attempt_at, claim, claimed_until)
  SELECT account_id, event_id, endpoint_id, lead_reference, with_attributes,
    CASE WHEN enabled THEN 'pending' ELSE 'held' END, :now, claim,
    CASE WHEN claim IS NOT NULL THEN clock_timestamp() + :claimMs::int * interval '1 ms' END
  FROM unnest(:accountId::bigint[], :eventId::uuid[], :endpointId::bigint[], :leadReference::uuid[],
    :includesAttributes::boolean[], :enabled::boolean[], :claim::int[])
    AS d (account_id, event_id, endpoint_id, lead_reference, with_attributes, enabled, claim)
  ON CONFLICT (event_id, endpoint_id) DO NOTHING
  RETURNING id, event_id AS "eventId", endpoint_id AS "endpointId"`

/**
 * Creates deliveries that are due at `now`, and returns them. A delivery that already exists stays as it is
 * and is not returned.
 */
export const createDeliveries = (
  tx: OpenTransaction,
  deliveries: NewDelivery[],
  { now, claimMs }: { now: Date; claimMs: number },
): Promise<CreatedDelivery[]> => {
  if (deliveries.length === 0) return Promise.resolve([])
  const rows = deliveries.map(({ event, endpoint, claim }) => ({
    ...event,
    ...endpoint,
    eventId: event.id,
    claim,
  }))
  const identifiers = columnsByName(rows, 'accountId', 'eventId', 'endpointId', 'leadReference')
  const states = columnsByName(rows, 'includesAttributes', 'enabled', 'claim')
  return insert(tx, { ...identifiers, ...states, now, claimMs })
}
