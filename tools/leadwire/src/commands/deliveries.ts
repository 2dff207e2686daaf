import type { Attempt, Delivery } from '@leadwire/contracts'
import { DeliveryFilters, truncateInstant } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import type { Command } from 'commander'
import { checkFields } from './check-fields'
import { addAction, parseId } from './run'

export const renderDelivery = (delivery: Delivery) => ({
  id: delivery.id,
  endpoint_id: delivery.endpointId,
  event_id: delivery.eventId,
  lead_reference: delivery.leadReference,
  status: delivery.status,
  attempt_count: delivery.attemptCount,
  next_attempt_at: delivery.nextAttemptAt ?? null,
  last_status: delivery.lastStatus ?? null,
  last_error: delivery.lastError ?? null,
  created_at: delivery.createdAt,
  updated_at: delivery.updatedAt,
})

export const renderAttempt = (attempt: Attempt) => ({
  number: attempt.number,
  started_at: attempt.startedAt,
  duration_ms: attempt.durationMs,
  status: attempt.status ?? null,
  error: attempt.error ?? null,
  reason: attempt.reason ?? null,
  response: attempt.response ?? null,
})

const addIds = (command: Command) =>
  command
    .requiredOption('--account <id>', 'the account', parseId)
    .requiredOption('--id <id>', 'the delivery', parseId)

interface Filters {
  account: number
  endpoint?: number
  status?: string
  lead?: string
  from?: string
  to?: string
  type?: string
  error?: string
  failed?: boolean
  page: number
}

const PER_PAGE = 20

/** Adds `leadwire deliveries …`. */
export const addDeliveries = (program: Command): void => {
  const deliveries = program.command('deliveries').description('show and retry deliveries')

  addAction<Filters>(
    deliveries
      .command('list')
      .description('list a page of 20 deliveries, newest first')
      .requiredOption('--account <id>', 'the account', parseId)
      .option('--endpoint <id>', 'only deliveries to this endpoint', parseId)
      .option('--status <status>', 'only this status: pending, delivered, exhausted, held or cancelled')
      .option('--lead <reference>', 'only this lead: its reference, or at least its first 4 characters')
      .option(
        '--from <instant>',
        'only deliveries created at or after this instant, such as 2026-01-31T09:30:00Z',
      )
      .option('--to <instant>', 'only deliveries created before this instant')
      .option('--type <type>', 'only this event type, such as lead.created')
      .option('--error <error>', 'only deliveries whose last attempt had this error, such as timeout')
      .option('--failed', 'only deliveries whose last attempt failed')
      .option('--no-failed', 'only deliveries whose last attempt did not fail')
      .option('--page <number>', 'the page', parseId, 1),
    async ({ webhooks }, { account, page, ...options }) => {
      const fields = checkFields(DeliveryFilters, {
        endpoint_id: options.endpoint,
        lead_reference: options.lead,
        status: options.status,
        from: options.from,
        to: options.to,
        type: options.type,
        error: options.error,
        failed: options.failed,
      })
      const { endpoint_id, lead_reference, from, to, ...given } = fields
      const filters = {
        ...given,
        accountId: account,
        endpointId: endpoint_id,
        leadReference: lead_reference?.toLowerCase(),
        from: from && truncateInstant(from),
        to: to && truncateInstant(to),
      }
      const found = await webhooks.listDeliveries({ ...filters, page })
      const { deliveries } = found
      if (page > 1 && found.totalCapped && deliveries.length === 0)
        throw ServiceError.invalid({ page: [`Pages reach only the first ${found.total} deliveries.`] })
      // Fills the first page: with some filters a response has only part of a page.
      let cursor = found.nextCursor
      while (page === 1 && deliveries.length < PER_PAGE && cursor) {
        const more = await webhooks.listDeliveries({ ...filters, page, cursor })
        deliveries.push(...more.deliveries)
        cursor = more.nextCursor
      }
      return deliveries.slice(0, PER_PAGE).map(renderDelivery)
    },
  )

  addAction<{ account: number; id: number }>(
    addIds(deliveries.command('show').description('show a delivery with its attempts')),
    async ({ webhooks }, { account, id: deliveryId }) => {
      const { delivery, attempts } = await webhooks.retrieveDelivery({ accountId: account, deliveryId })
      return { ...renderDelivery(delivery!), attempts: attempts.map(renderAttempt) }
    },
  )

  addAction<{ account: number; id: number }>(
    addIds(deliveries.command('retry').description('make one more attempt now')),
    async ({ webhooks }, { account, id: deliveryId }) =>
      renderDelivery((await webhooks.retryDelivery({ accountId: account, deliveryId })).delivery!),
  )
}
