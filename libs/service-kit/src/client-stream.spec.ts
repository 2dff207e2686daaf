import {
  FilesServiceDefinition,
  type FilesServiceImplementation,
  type UploadRequest,
  UploadResponse,
  uploadRequestParts,
} from '@leadwire/contracts'
import {
  clientStream,
  connectHttp2,
  createGrpcServer,
  createLifecycle,
  createLogger,
  type Lifecycle,
  ServiceError,
} from './index'

const logger = createLogger({ service: 'spec', level: 'silent' })
const CHUNK = Buffer.alloc(64 * 1024, 'x')
const NEVER = new AbortController().signal

let lifecycle: Lifecycle
beforeEach(() => {
  lifecycle = createLifecycle(logger)
})
afterEach(() => lifecycle.stop())

type Upload = FilesServiceImplementation['upload']

const unforeseen = async () => {
  throw new Error('not expected')
}

const serve = async (upload: Upload, { port = 0, life = lifecycle } = {}) => {
  const server = createGrpcServer({ logger, lifecycle: life, longCalls: true })
  server.add(FilesServiceDefinition, { upload, download: unforeseen as never, delete: unforeseen })
  return server.listen({ host: '127.0.0.1', port })
}

const uploadTo = (port: number) =>
  clientStream({
    sessions: connectHttp2(`ipv4:127.0.0.1:${port}`, lifecycle),
    path: '/leadwire.files.v1.FilesService/Upload',
    encode: uploadRequestParts,
    decode: UploadResponse.decode,
  })

async function* chunks(count: number): AsyncGenerator<UploadRequest> {
  for (let sent = 0; sent < count; sent++) yield { part: { $case: 'chunk', value: CHUNK } }
}

const counting: Upload = async (messages) => {
  let size = 0
  for await (const { part } of messages) if (part?.$case === 'chunk') size += part.value.length
  return { size, key: 'kept' }
}

test('sends what it is given and gives what is answered', async () => {
  const upload = uploadTo(await serve(counting))
  const answers = await Promise.all(
    [0, 1, 2, 40].map((count) => upload(chunks(count), { deadline: 10_000, signal: NEVER })),
  )
  expect(answers.map(({ size }) => size / CHUNK.length)).toEqual([0, 1, 2, 40])
  expect(answers[0]).toMatchObject({ key: 'kept', faults: [] })
})

test('fails as the server does, while there is more to send', async () => {
  let finished = false
  const upload = uploadTo(
    await serve(async (messages) => {
      await messages[Symbol.asyncIterator]().next()
      throw new ServiceError('too_large', 'No more than this.', { faults: { file: ['Größe'] } })
    }),
  )
  const endless = async function* () {
    try {
      yield* chunks(Number.POSITIVE_INFINITY)
    } finally {
      finished = true
    }
  }
  await expect(upload(endless(), { deadline: 10_000, signal: NEVER })).rejects.toMatchObject({
    code: 'too_large',
    detail: 'No more than this.',
    faults: { file: ['Größe'] },
  })
  await new Promise(setImmediate)
  expect(finished).toBe(true)
})

test('asks for no more than a server that reads nothing has room for', async () => {
  let asked = 0
  const upload = uploadTo(await serve(() => new Promise(() => undefined)))
  const counted = async function* () {
    for await (const message of chunks(1000)) {
      asked += CHUNK.length
      yield message
    }
  }
  await expect(upload(counted(), { deadline: 1500, signal: NEVER })).rejects.toMatchObject({ code: 'late' })
  expect(asked).toBeLessThan(4 * 1024 * 1024)
})

test('an aborted call rejects with the reason and is over for the server too', async () => {
  const controller = new AbortController()
  let aborted: () => void
  const seen = new Promise<void>((resolve) => {
    aborted = resolve
  })
  const upload = uploadTo(
    await serve(async (_messages, { signal }) => {
      signal.addEventListener('abort', () => aborted())
      controller.abort(new Error('enough'))
      return new Promise(() => undefined)
    }),
  )
  await expect(upload(chunks(1), { deadline: 10_000, signal: controller.signal })).rejects.toThrow('enough')
  await seen
})

test('what its messages fail with is what it fails with', async () => {
  const upload = uploadTo(await serve(counting))
  const broken = async function* () {
    yield* chunks(3)
    throw new Error('broken off')
  }
  await expect(upload(broken(), { deadline: 10_000, signal: NEVER })).rejects.toThrow('broken off')
})

test('is unavailable where nobody is', async () => {
  const life = createLifecycle(logger)
  const port = await serve(counting, { life })
  await life.stop()
  await expect(uploadTo(port)(chunks(1), { deadline: 10_000, signal: NEVER })).rejects.toMatchObject({
    code: 'unavailable',
  })
})

test('no call is lost when a server makes way for the next', async () => {
  let life = createLifecycle(logger)
  const port = await serve(counting, { life })
  const upload = uploadTo(port)
  let restarting = true
  const sizes: number[] = []
  const callers = Array.from({ length: 8 }, async () => {
    while (restarting) sizes.push((await upload(chunks(3), { deadline: 10_000, signal: NEVER })).size)
  })
  try {
    for (let restart = 0; restart < 5; restart++) {
      const before = sizes.length
      while (sizes.length < before + 20) await Promise.race([new Promise(setImmediate), ...callers])
      const stopped = life.stop()
      life = createLifecycle(logger)
      await stopped
      await serve(counting, { port, life })
    }
  } finally {
    restarting = false
  }
  await Promise.all(callers)
  await life.stop()
  expect(new Set(sizes)).toEqual(new Set([3 * CHUNK.length]))
})
