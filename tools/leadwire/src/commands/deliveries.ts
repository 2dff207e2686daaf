import type { Attempt, Delivery } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { Command } from 'commander'
import { does, id, instant } from './run'

export const deliveryOutput = (delivery: Delivery) => ({
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

export const attemptOutput = (attempt: Attempt) => ({
  number: attempt.number,
  started_at: attempt.startedAt,
  duration_ms: attempt.durationMs,
  status: attempt.status ?? null,
  error: attempt.error ?? null,
  reason: attempt.reason ?? null,
  response: attempt.response ?? null,
})

const named = (command: Command) =>
  command.requiredOption('--account <id>', 'the account', id).requiredOption('--id <id>', 'the delivery', id)

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

const utc = (text: string) => new Date(instant(text)).toISOString()

/** `leadwire deliveries …` */
export const addDeliveries = (program: Command): void => {
  const deliveries = program.command('deliveries').description('events on their way to endpoints')

  does<Filters>(
    deliveries
      .command('list')
      .description('a page of 20, newest first')
      .requiredOption('--account <id>', 'the account', id)
      .option('--endpoint <id>', 'only those to this endpoint', id)
      .option('--status <status>', 'only those that are pending, delivered, exhausted, held or cancelled')
      .option('--lead <reference>', 'only those of this lead: its reference, or the first 4 digits or more')
      .option('--from <instant>', 'only those recorded then or later, such as 2026-01-31T09:30:00Z', utc)
      .option('--to <instant>', 'only those recorded before', utc)
      .option('--type <type>', 'only those about this, such as lead.created')
      .option('--error <error>', 'only those whose last attempt failed so, such as timeout')
      .option('--failed', 'only those whose last attempt failed')
      .option('--no-failed', 'only the others')
      .option('--page <number>', 'which page', id, 1),
    async ({ webhooks }, { account, endpoint, lead, page, ...given }) => {
      const filters = {
        accountId: account,
        endpointId: endpoint,
        leadReference: lead?.toLowerCase(),
        ...given,
      }
      const found = await webhooks.listDeliveries({ ...filters, page })
      const { deliveries } = found
      if (page > 1 && found.totalCapped && deliveries.length === 0)
        throw ServiceError.invalid({ page: [`Pages end here with ${found.total} deliveries.`] })
      // With some filters an answer has only a part of a page.
      for (let { nextCursor: cursor } = found; page === 1 && deliveries.length < PER_PAGE && cursor; ) {
        const more = await webhooks.listDeliveries({ ...filters, page, cursor })
        deliveries.push(...more.deliveries)
        cursor = more.nextCursor
      }
      return deliveries.slice(0, PER_PAGE).map(deliveryOutput)
    },
  )

  does<{ account: number; id: number }>(
    named(deliveries.command('show').description('one with every attempt')),
    async ({ webhooks }, { account, id: deliveryId }) => {
      const { delivery, attempts } = await webhooks.retrieveDelivery({ accountId: account, deliveryId })
      return { ...deliveryOutput(delivery!), attempts: attempts.map(attemptOutput) }
    },
  )

  does<{ account: number; id: number }>(
    named(deliveries.command('retry').description('attempt it once more, now')),
    async ({ webhooks }, { account, id: deliveryId }) =>
      deliveryOutput((await webhooks.retryDelivery({ accountId: account, deliveryId })).delivery!),
  )
}
