import type { Attempt, Delivery } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { Command } from 'commander'
import { does, id } from './run'

export const deliveryOutput = (delivery: Delivery) => ({
  id: delivery.id,
  endpoint_id: delivery.endpointId,
  event_id: delivery.eventId,
  lead_reference: delivery.leadReference,
  status: delivery.status,
  attempt_count: delivery.attemptCount,
  next_attempt_at: delivery.nextAttemptAt ?? null,
  created_at: delivery.createdAt,
  updated_at: delivery.updatedAt,
})

const attemptOutput = (attempt: Attempt) => ({
  number: attempt.number,
  started_at: attempt.startedAt,
  duration_ms: attempt.durationMs,
  status: attempt.status ?? null,
  error: attempt.error ?? null,
  response: attempt.response ?? null,
})

const named = (command: Command) =>
  command.requiredOption('--account <id>', 'the account', id).requiredOption('--id <id>', 'the delivery', id)

interface Filters {
  account: number
  endpoint?: number
  status?: string
  lead?: string
  page: number
}

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
      .option('--lead <reference>', 'only those of this lead')
      .option('--page <number>', 'which page', id, 1),
    async ({ webhooks }, { account, endpoint, status, lead, page }) => {
      const filters = { endpointId: endpoint, status, leadReference: lead }
      const found = await webhooks.listDeliveries({ accountId: account, ...filters, page })
      if (found.totalCapped && found.deliveries.length === 0)
        throw ServiceError.invalid({ page: [`Pages end here with ${found.total} deliveries.`] })
      return found.deliveries.map(deliveryOutput)
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
