import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { problemJson, ServiceError, toProblem } from '@leadwire/service-kit'
import { eventually } from '@leadwire/test-kit'
import { connectFiles } from './connect-files'

const TERMS = {
  collection: 'images',
  file_name: 'a b&c.txt',
  formats: 'txt',
  max_bytes: 10,
  keep: true,
  sha256: false,
}
const NEVER = new AbortController().signal

let servers: Server[] = []
afterEach(() => {
  for (const server of servers) server.close().closeAllConnections()
  servers = []
})

const serve = async (answer: RequestListener): Promise<URL> =>
  listen(
    createServer((request, response) => {
      if (request.url === '/healthz') response.end()
      else answer(request, response)
    }),
  )

const listen = async (server: Server): Promise<URL> => {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

/** Returns a URL where no process listens. */
const deadAddress = async (): Promise<URL> => {
  const url = await serve(() => undefined)
  await new Promise((resolve) => servers.pop()!.close(resolve))
  return url
}

const counting = (counts: number[], index: number): RequestListener => {
  counts[index] = 0
  return (request, response) => {
    counts[index]! += 1
    request.resume().on('end', () => response.end('{"key":"k"}'))
  }
}

const createClient = (...urls: URL[]) =>
  connectFiles({ urls, tokens: ['the-first', 'the-second'], idleMs: 1000 })

const upload = (client: ReturnType<typeof createClient>, bytes = Readable.from([Buffer.from('hello')])) =>
  client.upload(TERMS, bytes, NEVER)

test('every copy gets requests', async () => {
  const counts: number[] = []
  const client = createClient(await serve(counting(counts, 0)), await serve(counting(counts, 1)))
  for (let sent = 0; sent < 6; sent += 1) await upload(client)
  expect(counts).toEqual([3, 3])
})

test('a name is resolved, and a copy that is down is skipped before anything is sent', async () => {
  const counts: number[] = []
  const { port } = await serve(counting(counts, 0))
  const client = createClient(await deadAddress(), new URL(`http://localhost:${port}`), await deadAddress())
  for (let sent = 0; sent < 6; sent += 1) await upload(client)
  expect(counts).toEqual([6])
})

test('each of many requests at once skips a copy that is down', async () => {
  const counts: number[] = []
  const client = createClient(await deadAddress(), await serve(counting(counts, 0)))
  await Promise.all(Array.from({ length: 20 }, () => upload(client)))
  expect(counts).toEqual([20])
})

test('an upload whose connection breaks is not sent to another copy: the first may have stored it', async () => {
  const counts: number[] = []
  const breaking = await serve((request) => void request.once('data', () => request.socket.destroy()))
  const client = createClient(await serve(counting(counts, 0)), breaking)
  const results = await Promise.allSettled([upload(client), upload(client)])
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'unavailable' },
  })
  expect(counts).toEqual([1])
})

test('a copy that resets a connection before it answers is skipped', async () => {
  const counts: number[] = []
  const resetting = await listen(createServer(({ socket }) => socket.resetAndDestroy()))
  const client = createClient(await serve(counting(counts, 0)), resetting)
  for (let sent = 0; sent < 2; sent += 1) {
    await upload(client)
    const { bytes } = await client.download('images/a.txt')
    bytes.resume()
    await client.delete('images/a.txt')
  }
  expect(counts).toEqual([6])
})

test('without any copy it is unavailable, and not ready', async () => {
  for (const url of [await deadAddress(), new URL('http://no-such-name.invalid:4000')]) {
    const client = createClient(url)
    await expect(upload(client)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(client.download('images/a.txt')).rejects.toMatchObject({ code: 'unavailable' })
    await expect(client.delete('images/a.txt')).rejects.toMatchObject({ code: 'unavailable' })
    await expect(client.check()).rejects.toThrow()
  }
})

test('it is ready as long as one copy is', async () => {
  const ready = await serve((_request, response) => void response.end())
  const draining = await serve((_request, response) => void response.writeHead(503).end())
  const oneIsReady = createClient(draining, ready, await deadAddress())
  // A check takes at most 800 ms, which may be too short on a busy machine.
  await eventually(() => oneIsReady.check())
  await expect(createClient(draining).check()).rejects.toThrow()
})

test('the terms and the first token are sent', async () => {
  let asked: { url: URL; authorization: string | undefined } | undefined
  const url = await serve(({ url: path, headers: { authorization } }, response) => {
    asked = { url: new URL(path!, 'http://files'), authorization }
    response.end('{}')
  })
  await upload(createClient(url))
  expect(asked!.authorization).toBe('Bearer the-first')
  expect(Object.fromEntries(asked!.url.searchParams)).toEqual({
    collection: 'images',
    file_name: 'a b&c.txt',
    formats: 'txt',
    max_bytes: '10',
    keep: 'true',
    sha256: 'false',
  })
})

test('a refusal is the ServiceError it was; a refusal of our token is internal', async () => {
  let refusal = new ServiceError('invalid', '', { fieldErrors: { file: ['No.'] } })
  const url = await serve((_request, response) => {
    const problem = toProblem(refusal)
    response.writeHead(problem.status).end(problemJson(problem, 'x'))
  })
  await expect(upload(createClient(url))).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { file: ['No.'] },
  })
  refusal = new ServiceError('not_found', 'There is no such file.')
  await expect(createClient(url).download('images/a.txt')).rejects.toMatchObject({ code: 'not_found' })
  refusal = new ServiceError('unauthenticated', 'No.')
  await expect(createClient(url).delete('images/a.txt')).rejects.toMatchObject({ code: 'internal' })
})

test('an error of the bytes is thrown as it is, and not as a failure of files-service', async () => {
  const url = await serve((request) => void request.resume())
  const bytes = Readable.from(
    (async function* () {
      yield Buffer.from('hello')
      throw new Error('the form is not well-formed')
    })(),
  )
  await expect(upload(createClient(url), bytes)).rejects.toThrow('the form is not well-formed')
})

test('bytes are taken no faster than files-service takes them', async () => {
  const url = await serve((request) => void request.pause())
  let taken = 0
  const bytes = Readable.from(
    (function* () {
      for (; taken < 1000; taken += 1) yield Buffer.alloc(64 * 1024)
    })(),
  )
  const controller = new AbortController()
  const uploading = connectFiles({ urls: [url], tokens: [], idleMs: 300 }).upload(
    TERMS,
    bytes,
    controller.signal,
  )
  // The upload times out when no byte moves any more. By then, the gateway has taken only the bytes that fit
  // into the buffers.
  await expect(uploading).rejects.toMatchObject({ code: 'late' })
  expect(taken * 64 * 1024).toBeLessThan(16 * 1024 * 1024)
})
