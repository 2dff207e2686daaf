import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Seen = { method: string; path: string; status: number }

export type RecordingProxy = { url: string; seen: Seen[]; stop(): Promise<void> }

/**
 * Starts a proxy that forwards requests to the URL `target`. Records each request and the status of its
 * response.
 */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    const passed = send(`${target}${url}`, { method, headers }, (answer) => {
      seen.push({ method, path: url, status: answer.statusCode! })
      response.writeHead(answer.statusCode!, answer.rawHeaders)
      answer.pipe(response)
    })
    passed.on('error', (error) => response.destroy(error))
    request.pipe(passed)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped())
        server.closeAllConnections()
      }),
  }
}
