import {
  eventually,
  manualClock,
  type ReceivedRequest,
  type Receiver,
  startReceiver,
} from '@leadwire/test-kit'
import { serviceSignature, standardSignature } from '@leadwire/webhook-receiver'
import { openDoors, startService } from '../../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver.stop()
  await doors.close()
})
beforeEach(() => receiver.clear())

const signsDocument = ({ headers, body }: ReceivedRequest, secret: string) =>
  headers['x-service-signature'] === serviceSignature(body, secret)

const signsStandard = ({ headers, body }: ReceivedRequest, secret: string) => {
  const message = { id: String(headers['webhook-id']), timestamp: String(headers['webhook-timestamp']) }
  return String(headers['webhook-signature'])
    .split(' ')
    .includes(standardSignature(body, message, secret))
}

const signatureCount = ({ headers }: ReceivedRequest) =>
  String(headers['webhook-signature']).split(' ').length

describe('with a manual clock', () => {
  const clock = manualClock()
  let service: Awaited<ReturnType<typeof startService>>
  beforeAll(async () => {
    service = await startService(doors, { clock })
  })
  afterAll(() => service.stop())

  const next = async (accountId: number): Promise<ReceivedRequest> => {
    receiver.clear()
    await doors.publish(doors.event(accountId))
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    return receiver.requests[0]!
  }

  test('the old secret signs X-SERVICE-Signature until the overlap ends, to the millisecond', async () => {
    const { id: endpointId, secret: old } = await service.endpoint(1, receiver.url)
    const rotated = await service.client.rotateWebhookSecret({ accountId: 1, endpointId, overlapMs: 900_000 })
    expect(rotated).toMatchObject({
      endpoint: { id: endpointId, enabled: true },
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32}$/),
      oldSecretUntil: '2026-01-01T00:15:00.000000Z',
    })
    const shown = async () =>
      (await service.client.retrieveWebhookEndpoint({ accountId: 1, endpointId })).endpoint
    expect(rotated.endpoint).toEqual(await shown())
    clock.advance(899_999)
    expect((await shown())?.previousSecretUntil).toBe('2026-01-01T00:15:00.000000Z')
    const during = await next(1)
    expect([signsDocument(during, old), signatureCount(during)]).toEqual([true, 2])
    expect([signsStandard(during, old), signsStandard(during, rotated.secret)]).toEqual([true, true])
    clock.advance(1)
    expect((await shown())?.previousSecretUntil).toBeUndefined()
    const after = await next(1)
    expect([signsDocument(after, rotated.secret), signatureCount(after)]).toEqual([true, 1])
    expect(signsStandard(after, rotated.secret)).toBe(true)
  })

  test('after a second rotation, the oldest secret keeps X-SERVICE-Signature and all secrets sign', async () => {
    const { id: endpointId, secret: first } = await service.endpoint(2, receiver.url)
    const rotate = async (overlapMs: number, secret?: string) =>
      (await service.client.rotateWebhookSecret({ accountId: 2, endpointId, overlapMs, secret })).secret
    const second = await rotate(60_000)
    clock.advance(30_000)
    const third = await rotate(60_000, 'a secret of our own')
    expect(third).toBe('a secret of our own')
    const expectSigned = async (header: string, all: string[]) => {
      const request = await next(2)
      expect([signsDocument(request, header), signatureCount(request)]).toEqual([true, all.length])
      for (const secret of all) expect(signsStandard(request, secret)).toBe(true)
    }
    await expectSigned(first, [first, second, third])
    clock.advance(30_000)
    await expectSigned(second, [second, third])
    const fourth = await rotate(3_600_000)
    const listed = await service.client.listWebhookEndpoints({ accountId: 2 })
    expect(listed.endpoints).toMatchObject([{ previousSecretUntil: '2026-01-01T01:16:00.000000Z' }])
    const fifth = await rotate(1000)
    await expectSigned(second, [second, third, fourth, fifth])
    clock.advance(1000)
    await expectSigned(fifth, [fifth])
    const sixth = await rotate(60_000)
    const seventh = await rotate(0)
    expect(sixth).not.toBe(seventh)
    await expectSigned(seventh, [seventh])
  })

  test('after a rotation back to a secret that still signs, this secret keeps X-SERVICE-Signature', async () => {
    const { id: endpointId, secret: first } = await service.endpoint(5, receiver.url)
    const rotate = async (secret?: string) =>
      (await service.client.rotateWebhookSecret({ accountId: 5, endpointId, overlapMs: 60_000, secret }))
        .secret
    const second = await rotate()
    const expectSigned = async (documented: string, standard: string[]) => {
      const request = await next(5)
      const signed = [first, second].filter((secret) => signsStandard(request, secret))
      expect([signsDocument(request, documented), signed]).toEqual([true, standard])
      expect(signatureCount(request)).toBe(standard.length)
    }
    clock.advance(30_000)
    await rotate(first)
    await expectSigned(first, [first, second])
    clock.advance(30_000)
    await rotate(second)
    for (const passed of [0, 30_000]) {
      clock.advance(passed)
      await expectSigned(first, [first, second])
    }
    clock.advance(30_000)
    await expectSigned(second, [second])
  })

  test('invalid rotations are refused', async () => {
    const { id: endpointId } = await service.endpoint(3, receiver.url)
    const rotate = (change: object) =>
      service.client.rotateWebhookSecret({ accountId: 3, endpointId, overlapMs: 1000, ...change })
    await expect(rotate({ accountId: 4 })).rejects.toMatchObject({ code: 'not_found' })
    for (let count = 0; count < 8; count += 1) await rotate({})
    await expect(rotate({})).rejects.toMatchObject({ code: 'conflict' })
    await rotate({ overlapMs: 0 })
  })
})

test('under load no receiver that follows the documented steps rejects a request, with either header', async () => {
  const clock = manualClock()
  const service = await startService(doors, { clock })
  try {
    const { id: endpointId, secret: first } = await service.endpoint(10, receiver.url)
    // The receiver that reads X-SERVICE-Signature accepts each secret that it knows until the secret ends.
    // The receiver that reads webhook-signature knows one secret, and changes it during the overlap.
    const known: { secret: string; until: number }[] = [{ secret: first, until: Infinity }]
    let standardSecret = first
    const failures: string[] = []
    receiver.answerWith((request) => {
      if (!known.some(({ secret, until }) => beganAt(request) <= until && signsDocument(request, secret)))
        failures.push('X-SERVICE-Signature')
      if (!signsStandard(request, standardSecret)) failures.push('webhook-signature')
      return { status: 200 }
    })
    // Uses the start of the attempt (in whole seconds), because the request may arrive later.
    const beganAt = ({ headers }: ReceivedRequest) => Number(headers['webhook-timestamp']) * 1000
    let sent = 0
    let loading = true
    const load = (async () => {
      while (loading) {
        await doors.publish(...Array.from({ length: 5 }, () => doors.event(10)))
        sent += 5
      }
    })()
    const moreArrive = async () => {
      const goal = receiver.requests.length + 20
      await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(goal))
    }
    for (let rotation = 0; rotation < 2; rotation += 1) {
      await moreArrive()
      // The receiver gets the new secret before any request is signed with the new secret alone.
      const rotated = await service.client.rotateWebhookSecret({
        accountId: 10,
        endpointId,
        overlapMs: 60_000,
      })
      for (const each of known) each.until = Math.min(each.until, Date.parse(rotated.oldSecretUntil))
      known.push({ secret: rotated.secret, until: Infinity })
      await moreArrive()
      standardSecret = rotated.secret
      await moreArrive()
      clock.advance(60_000)
      await moreArrive()
    }
    loading = false
    await load
    await eventually(() => expect(receiver.requests).toHaveLength(sent))
    expect(failures).toEqual([])
    expect(signsDocument(receiver.requests.at(-1)!, standardSecret)).toBe(true)
  } finally {
    receiver.answerWith({ status: 200 })
    await service.stop()
  }
})
