import { createHmac } from 'node:crypto'
import { eventually, type ReceivedRequest } from '@leadwire/test-kit'
import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const sha1 = (secret: string, body: Buffer) => createHmac('sha1', secret).update(body).digest('hex')

/** The Standard Webhooks signature of a request by one secret. */
const standard = (secret: string, { headers, body }: ReceivedRequest) => {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body.toString()}`
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}

const listenAndRotate = async (json: object) => {
  const { receiver, id, secret: old } = await tenant.listen()
  const rotated = await tenant.send<{ secret: string }>(
    'POST',
    `/manage/webhook-endpoints/${id}/rotate-secret`,
    { json },
  )
  expect(rotated.secret).not.toBe(old)
  await tenant.createLead()
  const request = await eventually(() => {
    expect(receiver.requests).toHaveLength(1)
    return receiver.requests[0]!
  })
  const signatures = String(request.headers['webhook-signature']).split(' ').sort()
  return { old, fresh: rotated.secret, request, signatures }
}

test('while an old secret lasts it keeps the interface’s header, and both sign Standard Webhooks', async () => {
  const { old, fresh, request, signatures } = await listenAndRotate({})
  expect(request.headers['x-service-signature']).toBe(sha1(old, request.body))
  expect(signatures).toEqual([standard(old, request), standard(fresh, request)].sort())
})

test('without an overlap the new secret signs alone', async () => {
  const { fresh, request, signatures } = await listenAndRotate({ overlap: '0s' })
  expect(request.headers['x-service-signature']).toBe(sha1(fresh, request.body))
  expect(signatures).toEqual([standard(fresh, request)])
})

test('a sample is a signed Lead Created of a test lead, to one endpoint alone', async () => {
  const { receiver, id, secret } = await tenant.listen()
  const other = await tenant.listen()
  await tenant.send('POST', `/manage/webhook-endpoints/${id}/test`)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const [{ body, headers }] = receiver.requests as [ReceivedRequest]
  expect(headers['x-service-signature']).toBe(sha1(secret, body))
  expect(headers['x-service-account-key']).toBe(tenant.account.api_key)
  expect(JSON.parse(body.toString())).toMatchObject({ data: { test: 1, type: 'quote' } })
  const { reference } = await tenant.createLead()
  await eventually(() => expect(other.receiver.requests).toHaveLength(1))
  expect(other.receiver.requests[0]!.body.toString()).toContain(reference)
  expect((await tenant.client.request('GET', '/leads')).json).toMatchObject({ total: 1 })
})
