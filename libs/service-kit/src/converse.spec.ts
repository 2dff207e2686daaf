import {
  type GetLeadsRequest,
  type GetLeadsResponse,
  LeadsServiceDefinition,
  type LeadsServiceImplementation,
} from '@leadwire/contracts'
import {
  connectHttp2,
  converseWith,
  createGrpcServer,
  createLifecycle,
  createLogger,
  inTurn,
  type Lifecycle,
  ServiceError,
} from './index'

const logger = createLogger({ service: 'spec', level: 'silent' })

let lifecycle: Lifecycle
beforeEach(() => {
  lifecycle = createLifecycle(logger)
})
afterEach(() => lifecycle.stop())

type Answer = (request: GetLeadsRequest) => Promise<GetLeadsResponse>

const serve = (answer: Answer, { port = 0, life = lifecycle } = {}) => {
  let streams = 0
  const server = createGrpcServer({ logger, lifecycle: life })
  const names = Object.keys(LeadsServiceDefinition.methods)
  const others = Object.fromEntries(names.map((name) => [name, async () => undefined]))
  const turns = inTurn(answer)
  server.add(LeadsServiceDefinition, {
    ...others,
    getLeads: (requests: AsyncIterable<GetLeadsRequest>) => {
      streams += 1
      return turns(requests)
    },
  } as unknown as LeadsServiceImplementation)
  return server.listen({ host: '127.0.0.1', port }).then((bound) => ({ port: bound, streams: () => streams }))
}

const getLeadsAt = (ports: number[], deadlineMs = 5000) =>
  converseWith(
    connectHttp2(`ipv4:${ports.map((port) => `127.0.0.1:${port}`).join()}`, lifecycle),
    LeadsServiceDefinition,
    { deadlineMs },
  ).getLeads

const asked = { leads: [{ accountId: 7, reference: 'r' }] }

const echo: Answer = async (request) => ({
  results: [{ result: { $case: 'body', value: Buffer.from(JSON.stringify(request)) } }],
})

const bodyOf = ({ results }: GetLeadsResponse) => JSON.parse(String(results[0]!.result!.value))

test('messages come and go whole, one after the other on one stream', async () => {
  const { port, streams } = await serve(echo)
  const getLeads = getLeadsAt([port])
  for (const size of [1, 100, 100_000, 3]) {
    const request = { leads: [{ accountId: size, reference: 'r'.repeat(size) }] }
    expect(bodyOf(await getLeads(request))).toEqual(request)
  }
  expect(streams()).toBe(1)
})

test('messages that are asked at once do not wait for each other', async () => {
  let arrived = 0
  let release: () => void = () => undefined
  const all = new Promise<void>((resolve) => {
    release = resolve
  })
  const { port } = await serve(async (request) => {
    arrived += 1
    if (arrived === 10) release()
    await all
    return echo(request)
  })
  const getLeads = getLeadsAt([port])
  const requests = Array.from({ length: 10 }, (_, id) => ({ leads: [{ accountId: id, reference: 'r' }] }))
  expect((await Promise.all(requests.map(getLeads))).map(bodyOf)).toEqual(requests)
})

test('the servers behind a name take turns', async () => {
  const servers = [await serve(echo), await serve(echo)]
  const getLeads = getLeadsAt(servers.map(({ port }) => port))
  await Promise.all([getLeads(asked), getLeads(asked)])
  expect(servers.map(({ streams }) => streams())).toEqual([1, 1])
})

test('a failure is the one that was thrown, what nobody foresaw is internal, and the next message goes on', async () => {
  const errors = [ServiceError.invalid({ name: ['It is wrong.'] }), new Error('a bug')]
  const { port } = await serve(async (request) => {
    if (errors.length > 0) throw errors.shift()
    return echo(request)
  })
  const getLeads = getLeadsAt([port])
  await expect(getLeads(asked)).rejects.toMatchObject({ code: 'invalid', faults: { name: ['It is wrong.'] } })
  await expect(getLeads(asked)).rejects.toMatchObject({ code: 'internal' })
  expect(bodyOf(await getLeads(asked))).toEqual(asked)
})

test('a message that is not answered in time is late, and the next one is not', async () => {
  let release: () => void = () => undefined
  const waits = new Promise<void>((resolve) => {
    release = resolve
  })
  const first = { leads: [] }
  const { port } = await serve(async (request) => {
    if (request.leads.length === 0) await waits
    return echo(request)
  })
  await expect(getLeadsAt([port], 50)(first)).rejects.toMatchObject({ code: 'late' })
  expect(bodyOf(await getLeadsAt([port])(asked))).toEqual(asked)
  release()
})

test('a message is unavailable where nobody is', async () => {
  const life = createLifecycle(logger)
  const { port } = await serve(echo, { life })
  await life.stop()
  await expect(getLeadsAt([port])(asked)).rejects.toMatchObject({ code: 'unavailable' })
})

test('no message is lost, and none done twice, when a server makes way for the next', async () => {
  let life = createLifecycle(logger)
  const taken: number[] = []
  const take: Answer = async (request) => {
    taken.push(request.leads[0]!.accountId)
    return echo(request)
  }
  const { port } = await serve(take, { life })
  const getLeads = getLeadsAt([port])
  let restarting = true
  let sent = 0
  let answered = 0
  const callers = Array.from({ length: 8 }, async () => {
    while (restarting) {
      sent += 1
      await getLeads({ leads: [{ accountId: sent, reference: 'r' }] })
      answered += 1
    }
  })
  try {
    for (let restart = 0; restart < 5; restart++) {
      const before = answered
      while (answered < before + 50) await Promise.race([new Promise(setImmediate), ...callers])
      const stopped = life.stop()
      life = createLifecycle(logger)
      await stopped
      await serve(take, { port, life })
    }
  } finally {
    restarting = false
  }
  await Promise.all(callers)
  await life.stop()
  expect(taken.sort((a, b) => a - b)).toEqual(Array.from({ length: sent }, (_, index) => index + 1))
})
