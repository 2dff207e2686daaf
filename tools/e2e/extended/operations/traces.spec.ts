import { randomBytes } from 'node:crypto'
import { eventually } from '@leadwire/test-kit'
import { multipartBody } from '../../support/client'
import { LEAD, type Stage, startStage, type Tenant } from '../../support/stage'
import { type Collector, startCollector } from './collector.fixture'

const CALLER = 'b7ad6b7169203331'

let collector: Collector
let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  collector = await startCollector()
  stage = await startStage({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      LOG_LEVEL: 'debug',
    },
  })
  tenant = await stage.newTenant()
})
afterAll(async () => {
  await stage.stop()
  await collector.stop()
})

/**
 * Creates the headers of a caller whose trace is recorded, and functions that wait for the spans of this
 * trace.
 */
const newTrace = () => {
  const id = randomBytes(16).toString('hex')
  const spans = () => collector.spans.filter(({ traceId }) => traceId === id)
  return {
    id,
    headers: { traceparent: `00-${id}-${CALLER}-01` },
    spans,
    /** Waits for spans with these names in the format `service: name`. */
    has: (...names: string[]) =>
      eventually(() =>
        expect(spans().map(({ service, name }) => `${service}: ${name}`)).toEqual(
          expect.arrayContaining(names),
        ),
      ),
    /** Waits until the parent of each span is another span of the trace or the caller's span. */
    isWhole: () =>
      eventually(() => {
        const ids = [CALLER, ...spans().map(({ id }) => id)]
        expect(spans().filter(({ parentId }) => !ids.includes(parentId))).toEqual([])
      }),
  }
}

test('a lead is one trace from the request to the POST at its receiver', async () => {
  const { receiver } = await tenant.listen()
  const trace = newTrace()
  await tenant.send('POST', '/leads', { json: LEAD, headers: trace.headers })
  await trace.has(
    'gateway: POST /leads',
    'gateway: leadwire.leads.v1.LeadsService/CreateLeads',
    'leads-service: leadwire.leads.v1.LeadsService/CreateLeads',
    'leads-service: COMMIT',
    'leads-service: publish leads.events',
    'webhook-service: process leads.events',
    'webhook-service: append-events',
    'webhook-service: POST webhook',
  )
  await trace.isWhole()
  const spanAt = (name: string) => trace.spans().find((span) => span.name === name)!
  expect(spanAt('POST /leads').parentId).toBe(CALLER)
  expect(receiver.requests[0]!.headers['traceparent']).toBe(`00-${trace.id}-${spanAt('POST webhook').id}-01`)
})

test('an update is one trace from the request to the POST at the receiver and the e-mail to the user', async () => {
  const user = { email: 'sam@example.com', name: 'Sam Bay' }
  await tenant.send('POST', '/manage/users', { json: user })
  const { reference } = await tenant.createLead()
  const { receiver } = await tenant.listen({ events: ['lead.updated'] })
  const trace = newTrace()
  await tenant.send('PATCH', `/leads/${reference}`, {
    json: { user_email: user.email, notify: true },
    headers: trace.headers,
  })
  await trace.has(
    'gateway: PATCH /leads/:reference',
    'leads-service: leadwire.leads.v1.LeadsService/UpdateLead',
    'leads-service: publish leads.events',
    'webhook-service: process leads.events',
    'webhook-service: POST webhook',
    'leads-service: publish notifications.requested',
    'webhook-service: process notifications.requested',
    'webhook-service: send e-mail',
  )
  await trace.isWhole()
  expect(receiver.requests[0]!.headers['traceparent']).toMatch(`00-${trace.id}-`)
})

test('an event that is published later from the outbox stays in its trace', async () => {
  const { receiver } = await tenant.listen()
  const trace = newTrace()
  await stage.system.nats.kill()
  await tenant.send('POST', '/leads', { json: LEAD, headers: trace.headers })
  await stage.system.nats.restart()
  await trace.has(
    'leads-service: publish leads.events',
    'webhook-service: process leads.events',
    'webhook-service: POST webhook',
  )
  await trace.isWhole()
  expect(receiver.requests).toHaveLength(1)
})

test('unary calls and files are in the trace of their request', async () => {
  const { reference } = await tenant.createLead()
  const calls = newTrace()
  await tenant.client.request('GET', '/manage/webhook-endpoints', { headers: calls.headers })
  await calls.has(
    'gateway: GET /manage/webhook-endpoints',
    'webhook-service: leadwire.webhooks.v1.WebhooksService/ListWebhookEndpoints',
  )
  const files = newTrace()
  await tenant.send('POST', `/leads/${reference}/attachments`, {
    body: multipartBody(
      [
        { name: 'name', value: 'a' },
        { name: 'file', value: 'a text', fileName: 'a.txt' },
      ],
      'b',
    ),
    headers: { 'content-type': 'multipart/form-data; boundary=b', ...files.headers },
  })
  await files.has('gateway: POST files-service', 'files-service: POST /files', 'files-service: store put')
})

test('log lines have the trace id, and spans have the request id but no personal data', async () => {
  const trace = newTrace()
  const headers = { ...trace.headers, 'X-Request-Id': 'a-request-of-ours' }
  await tenant.send('POST', '/leads', { json: LEAD, headers })
  await trace.has('gateway: POST /leads')
  const span = trace.spans().find(({ name }) => name === 'POST /leads')!
  await eventually(() => {
    const line = stage.system.logs('gateway').find((each) => each['request_id'] === 'a-request-of-ours')
    expect(line).toMatchObject({ msg: 'request', trace_id: trace.id, span_id: span.id })
  })
  expect(span.attributes).toContainEqual({
    key: 'leadwire.request_id',
    value: { stringValue: 'a-request-of-ours' },
  })
  expect(JSON.stringify(trace.spans())).not.toContain(LEAD.email)
})

test('a request without a recorded trace sends no spans', async () => {
  await tenant.createLead()
  const trace = newTrace()
  await tenant.send('POST', '/leads', { json: LEAD, headers: trace.headers })
  await trace.has('gateway: POST /leads')
  expect(
    collector.spans.filter(({ name }) => name === 'POST /leads').map(({ parentId }) => parentId),
  ).toEqual(expect.not.arrayContaining(['']))
})
