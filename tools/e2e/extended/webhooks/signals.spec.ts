import { eventually } from '@leadwire/test-kit'
import { LEAD, type Stage, startStage, type Tenant } from '../../support/stage'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const metric = async (name: string, labels = ''): Promise<number> => {
  const { health } = stage.system.services.find(({ name }) => name === 'webhook-service')!
  const text = await (await fetch(`${health}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(labels))
  return Number(line?.split(' ').at(-1))
}

test('the receiver and the log of the attempt get the trace of the request that created the lead', async () => {
  const { receiver, id: endpointId } = await tenant.listen()
  const traceparent = `00-${TRACE_ID}-b7ad6b7169203331-01`
  const { reference } = await tenant.send('POST', '/leads', { json: LEAD, headers: { traceparent } })
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  expect(receiver.requests[0]!.headers['traceparent']).toMatch(
    new RegExp(`^00-${TRACE_ID}-(?!b7ad6b7169203331)[0-9a-f]{16}-01$`),
  )
  const attempts = await eventually(() => {
    const found = stage.system.logs('webhook-service').filter(({ msg }) => msg === 'attempt')
    expect(found).toHaveLength(1)
    return found
  })
  expect(attempts[0]).toMatchObject({
    trace_id: TRACE_ID,
    endpoint_id: endpointId,
    event_id: receiver.requests[0]!.headers['webhook-id'],
    number: 1,
    manual: false,
    status: 200,
    error: null,
    duration_ms: expect.any(Number),
    lateness_ms: expect.any(Number),
    recorded: true,
  })
  expect(reference).toEqual(expect.any(String))
})

test('a test send has the key of the account, and a manual retry is one more attempt', async () => {
  const { receiver, id } = await tenant.listen()
  const delivery = await tenant.send('POST', `/manage/webhook-endpoints/${id}/test`)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  expect(receiver.requests[0]!.headers['x-service-account-key']).toBe(tenant.account.api_key)
  await eventually(async () =>
    expect(await tenant.send('POST', `/manage/deliveries/${delivery.id}/retry`)).toMatchObject({
      status: 'pending',
    }),
  )
  await eventually(async () =>
    expect(await tenant.send('GET', `/manage/deliveries/${delivery.id}`)).toMatchObject({
      status: 'delivered',
      attempt_count: 2,
    }),
  )
})

test('metrics count attempts by outcome and measure waiting deliveries', async () => {
  expect(await metric('leadwire_webhook_attempts_total', 'outcome="delivered"')).toBeGreaterThanOrEqual(2)
  expect(await metric('leadwire_webhook_first_attempt_delay_seconds_count')).toBeGreaterThanOrEqual(2)
  expect(await metric('leadwire_webhook_lateness_seconds_count')).toBeGreaterThanOrEqual(2)
  const { receiver } = await tenant.listen()
  receiver.answerWith({ status: 500 })
  await tenant.createLead()
  await eventually(async () =>
    expect(await metric('leadwire_webhook_attempts_total', 'outcome="http_status"')).toBe(1),
  )
  await eventually(async () =>
    expect(await metric('leadwire_webhook_deliveries_open', 'status="pending"')).toBe(1),
  )
  expect(await metric('leadwire_webhook_oldest_due_seconds')).toBe(0)
})
