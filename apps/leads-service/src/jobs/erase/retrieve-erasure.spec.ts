import { randomUUID } from 'node:crypto'
import {
  EventReceiver,
  WebhooksServiceDefinition,
  type WebhooksServiceImplementation,
} from '@leadwire/contracts'
import { createGrpcServer, createLifecycle, createLogger } from '@leadwire/service-kit'
import {
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'

const logger = createLogger({ service: 'spec', level: 'silent' })
const lifecycle = createLifecycle(logger)

/** The receivers that webhook-service returns for each event. */
const receivers = new Map<string, EventReceiver[]>()

let service: RunningLeadsService
beforeAll(async () => {
  const server = createGrpcServer({ logger, lifecycle, tokens: [] })
  const listEventReceivers: WebhooksServiceImplementation['listEventReceivers'] = async ({ eventId }) => ({
    stored: receivers.has(eventId),
    receivers: receivers.get(eventId) ?? [],
  })
  const unexpected = async () => {
    throw new Error('only receivers are asked for')
  }
  const implementation = new Proxy({ listEventReceivers } as WebhooksServiceImplementation, {
    get: (known, name) => Reflect.get(known, name) ?? unexpected,
  })
  server.add(WebhooksServiceDefinition, implementation)
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  service = await startLeadsService({}, { webhooksTarget: `127.0.0.1:${port}` })
})
afterAll(async () => {
  await service.stop()
  await lifecycle.stop()
})

const STORED_AT = '2026-11-21T09:30:05.123456Z'

/**
 * Erases a lead. Resolves with the id of the event `lead.erased`, the receipt (`erased`), a function that
 * retrieves the receipt again, and a function that changes the stored erasure.
 */
const eraseLead = async () => {
  const { leads, db } = service
  const { accountId } = await newAccount(service)
  const [{ reference }] = readOutcomes(await leads.createLeads({ leads: [newItem(accountId)] }))
  const retrieve = async () => {
    const { body } = await leads.retrieveErasure({ accountId, reference })
    return JSON.parse(body.toString()).data
  }
  const { body } = await leads.eraseLead({ accountId, reference })
  const [row] = await db.query<{ eventId: string }>({
    text: 'SELECT event_id AS "eventId" FROM erasures WHERE account_id = $1',
    values: [accountId],
  })
  const set = async (change: string, ...values: unknown[]) => {
    await db.query({
      text: `UPDATE erasures SET ${change} WHERE account_id = $1`,
      values: [accountId, ...values],
    })
  }
  return { ...row!, retrieve, erased: JSON.parse(body.toString()).data, set }
}

test('receivers are null until the erasure is done, and then what webhook-service has of the event', async () => {
  const { eventId, erased, retrieve, set } = await eraseLead()
  receivers.set(eventId, [EventReceiver.fromPartial({ endpointId: 1, deliveryId: 7, status: 'held' })])
  const notYet = { status: 'running', receivers: null, receivers_unavailable: null }
  expect(erased).toMatchObject(notYet)
  expect(await retrieve()).toMatchObject(notYet)

  await set('finished_at = now()')
  const held = { endpoint_id: 1, delivery_id: 7, status: 'held', delivered_at: null }
  expect(await retrieve()).toMatchObject({ receivers: [held], receivers_unavailable: null })
  const delivered = { endpointId: 1, deliveryId: 7, status: 'delivered', deliveredAt: STORED_AT }
  receivers.set(eventId, [EventReceiver.fromPartial(delivered)])
  const [receiver] = (await retrieve()).receivers
  expect(receiver).toEqual({ ...held, status: 'delivered', delivered_at: STORED_AT })
})

test('an erasure whose event is not stored has no receivers yet', async () => {
  const { retrieve, set } = await eraseLead()
  await set('finished_at = now(), event_id = $2', randomUUID())
  expect(await retrieve()).toMatchObject({ receivers: null, receivers_unavailable: null })
})

test('while webhook-service is away a receipt says why it has no receivers', async () => {
  const { retrieve, set } = await eraseLead()
  await set('finished_at = now()')
  await lifecycle.stop()
  expect(await retrieve()).toMatchObject({
    status: 'done',
    receivers: null,
    receivers_unavailable: expect.stringMatching(/Try again later/),
  })
})
