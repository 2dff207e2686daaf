// The state of an endpoint is that of its open deliveries, from the moment it changes; the column `status` of their rows follows
// (`settle-endpoints.ts`). Who shows, counts or looks for a status asks the endpoint.

/** SQL: what an open delivery of the endpoint that `alias` names is called. */
export const openAt = (alias: string) =>
  `CASE WHEN ${alias}.deleted_at IS NOT NULL THEN 'cancelled' WHEN ${alias}.enabled THEN 'pending' ELSE 'held' END`

/** SQL: what a delivery is called whose row has `status`, at the endpoint that `alias` names. */
export const shownStatus = (status: string, alias: string) =>
  `CASE WHEN ${status} IN ('pending', 'held') THEN ${openAt(alias)} ELSE ${status} END`

/** SQL: whether anything may be sent to the endpoint that `alias` names. */
export const isReceiving = (alias: string) => `(${alias}.enabled AND ${alias}.deleted_at IS NULL)`
