import {
  eventually,
  manualClock,
  type Receiver,
  startNats,
  startReceiver,
  type TestNats,
} from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'
import { type MailServer, startMailServer } from './mail-server.fixture'

const DAY_MS = 24 * 3_600_000

let nats: TestNats
let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver
let mail: MailServer
let clock: ReturnType<typeof manualClock>
let settings: Parameters<typeof startService>[1]

beforeAll(async () => {
  nats = await startNats()
  receiver = await startReceiver()
  mail = await startMailServer({})
})
beforeEach(async () => {
  mail.mails.length = 0
  clock = manualClock('2026-01-01T10:30:00Z')
  doors = await openDoors({ nats })
  settings = {
    clock,
    SMTP_URL: mail.target,
    WEBHOOK_DISABLE_AFTER: 5 * DAY_MS,
    // Retries follow only after 30 days, so the service attempts only deliveries that a test requests.
    WEBHOOK_RETRY_SCHEDULE: [30 * DAY_MS],
  }
  service = await startService(doors, settings)
})
afterEach(async () => {
  await service.stop()
  await doors.close()
})
afterAll(async () => {
  await nats.stop()
  await mail.stop()
  await receiver.stop()
})

const attempt = async (endpointId: number, status: number) => {
  receiver.answerWith({ status })
  const sent = { accountId: 1, endpointId, accountKey: 'key' }
  const { delivery } = await service.client.testWebhookEndpoint(sent)
  // Reads the delivery, because the call itself waits at most 5 s for the attempt.
  await eventually(async () => {
    const { attempts } = await service.client.retrieveDelivery({ accountId: 1, deliveryId: delivery!.id })
    expect(attempts).toMatchObject([{ status }])
  })
  // Waits until the review step has read the attempt.
  await eventually(async () => expect(await doors.rows('SELECT FROM unreviewed_attempts')).toEqual([]))
}

const failing = async (afterEndpointId?: number) =>
  (await service.client.listFailingEndpoints({ afterEndpointId })).endpoints

const notify = (endpointId: number, from = service) =>
  from.client.notifyContact({ endpointId, accountName: 'Bay & Sons', contactEmail: 'it@example.com' })

const notifications = async () =>
  (await service.client.listNotifications({ accountId: 1, page: 1 })).notifications

const delivered = (count: number) =>
  eventually(async () => {
    const found = await notifications()
    expect(found.map(({ delivery }) => delivery!.status)).toEqual(Array(count).fill('delivered'))
    expect(mail.mails).toHaveLength(count)
    return found
  })

test('the contact is notified once, when an endpoint has only failed for 24 hours', async () => {
  const { id } = await service.endpoint(1, `${receiver.url}?key=secret`)
  await attempt(id, 500)
  clock.advance(DAY_MS - 1)
  expect(await failing()).toEqual([])
  await notify(id)
  expect(await notifications()).toEqual([])
  clock.advance(1)
  expect(await failing()).toEqual([{ endpointId: id, accountId: 1 }])
  expect(await failing(id)).toEqual([])

  const other = await startService(doors, settings)
  await Promise.all([notify(id), notify(id, other), notify(id), notify(id, other)])
  await other.stop()
  expect(await failing()).toEqual([])
  await notify(id)
  const [stored] = await delivered(1)
  expect(stored).toMatchObject({
    subject: 'webhook_endpoint.failing',
    endpointId: id,
    userId: 0,
    userEmail: 'it@example.com',
    delivery: { leadReference: '' },
  })

  const [message] = mail.mails
  const address = receiver.url.replace('http://', '')
  expect(message!.envelope.to).toEqual(['it@example.com'])
  expect(message!.subject).toBe(`Webhook endpoint fails: ${address}`)
  expect(message!.text).toContain(`deliver a webhook of Bay & Sons to ${address} has failed`)
  expect(message!.text).toMatch(/Since: +Thursday.* 1 January 2026.* 10:30 \(Europe\/London\)/)
  expect(message!.text).toMatch(/Error: +http_status\n/)
  expect(message!.text).toMatch(/Waiting: +1 deliveries\n/)
  expect(message!.text).toMatch(/Disabled: +on Tuesday.* 6 January 2026.* 10:30/)
  expect(message!.html).toContain('Bay &#38; Sons')
  expect(message!.text).not.toContain('secret')
  expect(message!.attachments).toEqual([])
})

test('a success or a change of the endpoint restarts the 24 hours', async () => {
  const [recovered, changed] = [
    (await service.endpoint(1, receiver.url)).id,
    (await service.endpoint(1, receiver.url)).id,
  ]
  await attempt(recovered, 500)
  await attempt(changed, 500)
  clock.advance(DAY_MS - 1)
  await attempt(recovered, 200)
  clock.advance(1)
  await attempt(recovered, 500)
  await service.client.updateWebhookEndpoint({
    accountId: 1,
    endpointId: changed,
    url: `${receiver.url}/new`,
  })
  clock.advance(DAY_MS - 1)
  expect(await failing()).toEqual([])
  clock.advance(1)
  expect(await failing()).toEqual([{ endpointId: recovered, accountId: 1 }])
  await notify(recovered)
  await delivered(1)

  await attempt(recovered, 200)
  clock.advance(1)
  await attempt(recovered, 500)
  clock.advance(DAY_MS)
  expect(await failing()).toEqual([{ endpointId: recovered, accountId: 1 }])
  await notify(recovered)
  await delivered(2)
})

test('the message says if endpoints are never disabled', async () => {
  await service.stop()
  service = await startService(doors, { ...settings, WEBHOOK_DISABLE_AFTER: Number.POSITIVE_INFINITY })
  const { id } = await service.endpoint(1, receiver.url)
  await attempt(id, 500)
  clock.advance(DAY_MS)
  await notify(id)
  await delivered(1)
  expect(mail.mails[0]!.text).toMatch(/Disabled: +no, attempts continue\n/)
})
