import {
  LeadsServiceDefinition,
  type LeadsServiceImplementation,
  type RetrieveLeadsRequest,
  type RetrieveLeadsResponse,
} from '@leadwire/contracts'
import { freePort } from '@leadwire/test-kit'
import { ServiceError } from '../errors/service-error'
import { createLifecycle, type Lifecycle } from '../process/lifecycle'
import { createLogger } from '../process/logger'
import { answerEach, connectBatches } from './batches'
import { createGrpcServer } from './server'

const logger = createLogger({ service: 'spec', level: 'silent' })

let lifecycle: Lifecycle
beforeEach(() => {
  lifecycle = createLifecycle(logger)
})
afterEach(() => lifecycle.stop())

type Answer = (request: RetrieveLeadsRequest) => Promise<RetrieveLeadsResponse>

const serve = async (answer: Answer, { port = 0, life = lifecycle } = {}) => {
  let streams = 0
  const server = createGrpcServer({ logger, lifecycle: life, tokens: [] })
  const names = Object.keys(LeadsServiceDefinition.methods)
  const others = Object.fromEntries(names.map((name) => [name, async () => undefined]))
  const answers = answerEach(answer, life.signal)
  server.add(LeadsServiceDefinition, {
    ...others,
    retrieveLeads: (
      requests: AsyncIterable<RetrieveLeadsRequest>,
      context: Parameters<typeof answers>[1],
    ) => {
      streams += 1
      return answers(requests, context)
    },
  } as unknown as LeadsServiceImplementation)
  const bound = await server.listen({ host: '127.0.0.1', port })
  return { port: bound, streams: () => streams }
}

const retrieveLeadsAt = (ports: number[], deadlineMs = 10_000) => {
  const target = `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join()}`
  const retrieveLeads = connectBatches(target, { lifecycle, tokens: [] }).method(
    LeadsServiceDefinition,
    'retrieveLeads',
  )
  return (request: RetrieveLeadsRequest) => retrieveLeads(request, Date.now() + deadlineMs)
}

const batch = (accountId = 7, reference = 'r') => ({ leads: [{ accountId, reference, timeoutMs: 0 }] })

const echo: Answer = async (request) => ({
  results: [{ result: { $case: 'body', value: Buffer.from(JSON.stringify(request)) } }],
})

const parseBody = ({ results }: RetrieveLeadsResponse) => JSON.parse(String(results[0]!.result!.value))

test('batches come and go whole, one after the other on one stream', async () => {
  const { port, streams } = await serve(echo)
  const retrieveLeads = retrieveLeadsAt([port])
  for (const size of [1, 100, 100_000, 3]) {
    const request = batch(size, 'r'.repeat(size))
    expect(parseBody(await retrieveLeads(request))).toEqual(request)
  }
  expect(streams()).toBe(1)
})

test('batches that are sent at once do not wait for each other', async () => {
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
  const retrieveLeads = retrieveLeadsAt([port])
  const requests = Array.from({ length: 10 }, (_, id) => batch(id + 1))
  expect((await Promise.all(requests.map(retrieveLeads))).map(parseBody)).toEqual(requests)
})

test('the servers of a name share the batches', async () => {
  const servers = [await serve(echo), await serve(echo)]
  const retrieveLeads = retrieveLeadsAt(servers.map(({ port }) => port))
  // A new stream uses only servers that are connected, and one server may connect slightly later than the
  // other. Sends batches until both servers have a stream.
  while (servers.some(({ streams }) => streams() === 0))
    await Promise.all(Array.from({ length: 6 }, () => retrieveLeads(batch())))
})

test('an error arrives as it was thrown, and the next batch is answered', async () => {
  const errors = [ServiceError.invalid({ name: ['It is wrong.'] }), new Error('a bug')]
  const { port } = await serve(async (request) => {
    if (errors.length > 0) throw errors.shift()
    return echo(request)
  })
  const retrieveLeads = retrieveLeadsAt([port])
  await expect(retrieveLeads(batch())).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { name: ['It is wrong.'] },
  })
  await expect(retrieveLeads(batch())).rejects.toMatchObject({ code: 'internal' })
  expect(parseBody(await retrieveLeads(batch()))).toEqual(batch())
})

test('a batch that is not answered in time times out, and the next one does not', async () => {
  let release: () => void = () => undefined
  const waits = new Promise<void>((resolve) => {
    release = resolve
  })
  const { port } = await serve(async (request) => {
    if (request.leads.length === 0) await waits
    return echo(request)
  })
  await expect(retrieveLeadsAt([port], 50)({ leads: [] })).rejects.toMatchObject({ code: 'late' })
  expect(parseBody(await retrieveLeadsAt([port])(batch()))).toEqual(batch())
  release()
})

test('a batch is unavailable without a server', async () => {
  const life = createLifecycle(logger)
  const { port } = await serve(echo, { port: await freePort(), life })
  await life.stop()
  await expect(retrieveLeadsAt([port])(batch())).rejects.toMatchObject({ code: 'unavailable' })
})

test('no batch is lost, and none done twice, when a server makes way for the next', async () => {
  let life = createLifecycle(logger)
  const taken: number[] = []
  const take: Answer = async (request) => {
    taken.push(request.leads[0]!.accountId)
    return echo(request)
  }
  const { port } = await serve(take, { port: await freePort(), life })
  const retrieveLeads = retrieveLeadsAt([port])
  let restarting = true
  let sent = 0
  let answered = 0
  const callers = Array.from({ length: 8 }, async () => {
    while (restarting) {
      sent += 1
      await retrieveLeads(batch(sent))
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
