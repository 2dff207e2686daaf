import type { ErasureJob, PlaceDeps } from './erasure-job'

/**
 * Makes webhook-service empty the events it stores of a lead. An event in flight is waited for, so that its place in the
 * stream becomes known; one that did not come by then is dropped should it still come.
 */
export const eraseEvents = async (
  job: ErasureJob,
  { webhooks }: PlaceDeps,
): Promise<number[] | undefined> => {
  const erased = await webhooks.eraseLeadEvents({
    accountId: job.accountId,
    leadReference: job.reference,
    eventIds: job.events.map(({ id }) => id),
    bury: job.arrived,
  })
  for (const { eventId, sequence } of erased.messages) job.messages.set(eventId, sequence)
  job.unplacedAt = erased.unplacedAt ?? null
  if (erased.missingEventIds.length > 0) return undefined
  return [erased.webhookEvents, erased.notificationEvents, erased.cancelledDeliveries, erased.attempts]
}
