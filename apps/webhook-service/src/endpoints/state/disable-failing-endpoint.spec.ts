import { eventually, manualClock, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../../service.fixture'

const DAY_MS = 24 * 3_600_000
const DISABLE_AFTER = 5 * DAY_MS

let doors: Awaited<ReturnType<typeof openDoors>>
let receiver: Receiver
const clock = manualClock('2026-01-01T10:30:00Z')

beforeAll(async () => {
  doors = await openDoors()
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver.stop()
  await doors.close()
})

type Service = Awaited<ReturnType<typeof startService>>

const attempt = async (service: Service, endpointId: number, status: number) => {
  receiver.answerWith({ status })
  const sent = { accountId: 1, endpointId, accountKey: 'key' }
  const { delivery } = await service.client.testWebhookEndpoint(sent)
  // Reads the delivery, because the call itself waits at most 5 s for the attempt.
  await eventually(async () => {
    const { attempts } = await service.client.retrieveDelivery({ accountId: 1, deliveryId: delivery!.id })
    expect(attempts).toMatchObject([{ status }])
  })
}

const readEndpoint = async (service: Service, endpointId: number) =>
  (await service.client.retrieveWebhookEndpoint({ accountId: 1, endpointId })).endpoint!

test('only an endpoint that has only failed for the time of WEBHOOK_DISABLE_AFTER is disabled', async () => {
  const before = await startService(doors, { clock, WEBHOOK_RETRY_SCHEDULE: [] })
  const ids = []
  for (let count = 0; count < 4; count += 1) ids.push((await before.endpoint(1, receiver.url)).id)
  const [failing, recovered, changed, recent] = ids as [number, number, number, number]
  for (const id of [failing, recovered, changed]) await attempt(before, id, 500)
  clock.advance(DISABLE_AFTER - 1)
  await attempt(before, recovered, 200)
  await attempt(before, recovered, 500)
  await attempt(before, failing, 500)
  await attempt(before, recent, 500)
  await before.client.updateWebhookEndpoint({ accountId: 1, endpointId: changed, url: `${receiver.url}/new` })
  clock.advance(1)
  await eventually(async () => expect(await doors.rows('SELECT FROM unreviewed_attempts')).toEqual([]))
  await before.stop()

  const service = await startService(doors, {
    clock,
    WEBHOOK_RETRY_SCHEDULE: [],
    WEBHOOK_DISABLE_AFTER: DISABLE_AFTER,
  })
  await eventually(async () =>
    expect(await readEndpoint(service, failing)).toMatchObject({ enabled: false, disabledReason: 'failing' }),
  )
  for (const id of [recovered, changed, recent])
    expect(await readEndpoint(service, id)).toMatchObject({ enabled: true, disabledReason: undefined })
  const { entries } = await service.audit.listAudit({ accountId: 1 })
  expect(entries.filter(({ action }) => action === 'webhook_endpoint.disabled')).toHaveLength(1)

  await service.client.updateWebhookEndpoint({ accountId: 1, endpointId: failing, enabled: true })
  expect(await readEndpoint(service, failing)).toMatchObject({ enabled: true, disabledReason: undefined })
  const known = await doors.rows('SELECT endpoint_id FROM endpoint_failures WHERE endpoint_id = $1', [
    failing,
  ])
  expect(known).toEqual([])
  await service.stop()
})

test('a change of the state or URL of an endpoint resets its failures, and an empty change does not', async () => {
  const service = await startService(doors, { clock, WEBHOOK_RETRY_SCHEDULE: [] })
  const { id: endpointId } = await service.endpoint(1, receiver.url)
  const isFailing = async () =>
    (await doors.rows('SELECT FROM endpoint_failures WHERE endpoint_id = $1', [endpointId])).length > 0
  const update = (fields: object) =>
    service.client.updateWebhookEndpoint({ accountId: 1, endpointId, ...fields })
  await attempt(service, endpointId, 500)
  for (const same of [{ enabled: true }, { url: receiver.url }, { enabled: true, description: 'new' }]) {
    await update(same)
    await eventually(async () => expect(await isFailing()).toBe(true))
  }
  for (const change of [{ url: `${receiver.url}/new` }, { enabled: false }]) {
    await update(change)
    expect(await isFailing()).toBe(false)
    await update({ enabled: true })
    await attempt(service, endpointId, 500)
  }
  await service.client.holdAccount({ accountId: 1, held: true })
  await service.client.holdAccount({ accountId: 1, held: false })
  expect(await isFailing()).toBe(false)
  await service.stop()
})

test('without the setting no endpoint is disabled', async () => {
  const service = await startService(doors, { clock, WEBHOOK_RETRY_SCHEDULE: [] })
  const { id } = await service.endpoint(1, receiver.url)
  await attempt(service, id, 500)
  await service.stop()
  clock.advance(100 * DAY_MS)
  const later = await startService(doors, { clock })
  await doors.polls()
  expect(await readEndpoint(later, id)).toMatchObject({ enabled: true })
  await later.stop()
})
