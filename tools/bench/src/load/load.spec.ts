import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAtRate } from './create-at-rate'
import type { HttpRequest } from './http-request'
import { load } from './load'

let server: Server
let respond: RequestListener
let port: number

beforeAll(async () => {
  server = createServer((request, response) => respond(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})

afterAll(() => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
})

const requests: HttpRequest[] = ['/a', '/b'].map((path) => ({
  method: 'POST',
  path,
  headers: {},
  body: '{}',
}))

it('sends the given number of requests, drawn from all given ones', async () => {
  const paths: string[] = []
  respond = (request, response) => {
    paths.push(request.url!)
    response.end('{}')
  }
  const result = await load({ port, connections: 8, requests, seconds: 1, amount: 400 })
  expect(result.requests).toBe(400)
  expect(new Set(paths)).toEqual(new Set(['/a', '/b']))
})

it('fails if a response is not a success', async () => {
  respond = (_, response) => response.writeHead(503).end()
  await expect(load({ port, connections: 2, requests, seconds: 1, amount: 4 })).rejects.toThrow(
    /the response to \/[ab] was HTTP\/1.1 503/,
  )
})

it('creates at its rate although no create has a response yet', async () => {
  const waiting: (() => void)[] = []
  let count = 0
  respond = (request, response) => {
    waiting.push(() => response.end(`{"data":{"reference":"${request.url}${count}"}}`))
    // The server holds back all responses until the 50th request arrives. A closed loop would wait for a
    // response and never send that request.
    count += 1
    if (count < 50) return
    for (const finish of waiting.splice(0)) finish()
  }
  const created = await createAtRate({ port, requests, seconds: 0.5, perSecond: 100 })
  expect(created.map(({ request }) => request)).toEqual(Array.from({ length: 50 }, (_, index) => index % 2))
})
