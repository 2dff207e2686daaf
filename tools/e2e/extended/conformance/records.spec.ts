import { createHmac } from 'node:crypto'
import { eventually, type ReceivedRequest, type Receiver } from '@leadwire/test-kit'
import { PNG } from '../../support/samples'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../../support/stage'

let stage: SharedStage
let tenant: Tenant
let receiver: Receiver
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  ;({ receiver } = await tenant.listen())
})
afterAll(() => stage.stop())

const awaitWebhook = (reference: string): Promise<ReceivedRequest> =>
  eventually(() => {
    const found = receiver.requests.find(({ body }) => body.includes(reference))
    if (!found) throw new Error(`no webhook for ${reference} yet`)
    return found
  })

test('appointments, callbacks and attachments are listed newest first, page by page with a cursor', async () => {
  const { reference } = await tenant.createLead()
  const user = await tenant.send('POST', '/manage/users', { json: { email: 'l@example.com', name: 'Lin' } })
  const json = { notify: false, user_id: user.id, date: '01/07/2027 14:30' }
  const multipart = [
    { name: 'name', value: 'Front' },
    { name: 'file', value: PNG, fileName: 'a.png' },
  ]
  const [bodies, count] = [{ appointments: { json }, callbacks: { json }, attachments: { multipart } }, 101]
  for (const [what, body] of Object.entries(bodies)) {
    const path = `/leads/${reference}/${what}`
    const wanted = what === 'appointments' ? count : 2
    const made: { id: number }[] = []
    // Sends ten requests at once. All of them change one lead, so of a hundred the last would wait too long.
    while (made.length < wanted) {
      const requests = Array.from({ length: Math.min(10, wanted - made.length) }, () =>
        tenant.send<{ id: number }>('POST', path, body),
      )
      made.push(...(await Promise.all(requests)))
    }
    // The response to a create has only the fields of the lead API, so it lacks `cancelled_at`, `done_at`
    // and `remind`.
    const shown = what === 'attachments' ? {} : { cancelled_at: null, done_at: null, remind: false }
    const newestFirst = made.toSorted((a, b) => b.id - a.id).map((record) => ({ ...record, ...shown }))
    const list = async (cursor = '') =>
      (await tenant.client.request<object>('GET', `${path}?cursor=${cursor}`)).json as {
        data: object[]
        next_cursor: string | null
      }
    const first = await list()
    expect(first.data).toEqual(newestFirst.slice(0, 100))
    if (what !== 'appointments') expect(first.next_cursor).toBeNull()
    else expect(await list(first.next_cursor!)).toEqual({ data: newestFirst.slice(100), next_cursor: null })
  }
})

test('a secret that the receiver chose signs unchanged', async () => {
  const chosen = await tenant.listen({ secret: 'correct horse – battery' })
  await tenant.createLead()
  await eventually(() => expect(chosen.receiver.requests).toHaveLength(1))
  const [{ body, headers }] = chosen.receiver.requests as [ReceivedRequest]
  const mac = createHmac('sha1', 'correct horse – battery').update(body).digest('hex')
  expect(headers['x-service-signature']).toBe(mac)
})

test('a webhook belongs to the trace of the request that created its lead', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const { reference } = await tenant.send<Lead>('POST', '/leads', {
    json: LEAD,
    headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` },
  })
  expect((await awaitWebhook(reference)).headers['traceparent']).toMatch(
    new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`),
  )
})
