import { connect, type Socket } from 'node:net'

/** An HTTP answer, whatever it was sent with. `headers` in lower case; of several of one name the last. */
export type Answer = { status: number; headers: Record<string, string>; text: string }

export type Exchange = {
  /** Final answers in the order they came; 1xx are counted apart. */
  answers: Answer[]
  /** Statuses of the informational answers. */
  informational: number[]
  /** The server ended the connection. */
  closed: boolean
}

type Options = {
  /** How many answers to wait for; the server closing ends the wait sooner. */
  count?: number
  /** The answers are to a HEAD: they have no bodies. */
  head?: boolean
  timeoutMs?: number
}

/** What is written: text in Latin-1 (one byte a character), bytes, or a pause in milliseconds. */
export type Piece = string | Buffer | number

/** Writes bytes to the server as they are, and reads what it answers. Gives up after `timeoutMs` with what came. */
export const exchange = async (
  baseUrl: string,
  pieces: Piece | Piece[],
  options: Options = {},
): Promise<Exchange> => {
  const { count = 1, head = false, timeoutMs = 60_000 } = options
  const socket = await open(baseUrl)
  const received: Buffer[] = []
  let closed = false
  const done = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeoutMs)
    const finish = () => {
      clearTimeout(timer)
      resolve()
    }
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk)
      const { answers } = parse(Buffer.concat(received), head)
      // A server that says that it closes is given the time to.
      if (answers.length >= count && answers.at(-1)?.headers['connection'] !== 'close') finish()
    })
    socket.on('close', () => {
      closed = true
      finish()
    })
    // A server that cuts the connection while it is written to: what it said before is what counts.
    socket.on('error', () => undefined)
  })
  void write(socket, [pieces].flat())
  await done
  socket.destroy()
  return { ...parse(Buffer.concat(received), head), closed }
}

/** Writes bytes and disconnects without a word, once `when` resolves. */
export const abandon = async (
  baseUrl: string,
  pieces: Piece | Piece[],
  when: () => Promise<unknown>,
): Promise<void> => {
  const socket = await open(baseUrl)
  socket.on('error', () => undefined)
  socket.resume()
  await write(socket, [pieces].flat())
  await when()
  socket.resetAndDestroy()
}

const open = async (baseUrl: string): Promise<Socket> => {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return socket
}

const write = async (socket: Socket, pieces: Piece[]): Promise<void> => {
  for (const piece of pieces) {
    if (socket.destroyed) return
    if (typeof piece === 'number') await new Promise((resolve) => setTimeout(resolve, piece))
    else
      await new Promise<unknown>((resolve) =>
        socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece, resolve),
      )
  }
}

const parse = (bytes: Buffer, head: boolean): Pick<Exchange, 'answers' | 'informational'> => {
  const answers: Answer[] = []
  const informational: number[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end === -1) break
    const [line = '', ...fields] = bytes.toString('latin1', at, end).split('\r\n')
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(line)?.[1])
    if (!status) throw new Error(`not an HTTP answer: ${JSON.stringify(line)}`)
    const headers = Object.fromEntries(
      fields.map((field) => {
        const colon = field.indexOf(':')
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()]
      }),
    )
    const body = status < 200 || head ? { text: '', next: end + 4 } : bodyFrom(bytes, end + 4, headers)
    if (!body) break
    at = body.next
    if (status < 200) informational.push(status)
    else answers.push({ status, headers, text: body.text })
  }
  return { answers, informational }
}

const bodyFrom = (bytes: Buffer, from: number, headers: Record<string, string>) => {
  if (headers['transfer-encoding'] === 'chunked') {
    const end = bytes.indexOf('\r\n0\r\n\r\n', from - 2)
    if (end === -1) return undefined
    return { text: unchunk(bytes.subarray(from, end + 2)), next: end + 7 }
  }
  const next = from + Number(headers['content-length'] ?? 0)
  return next > bytes.length ? undefined : { text: bytes.toString('utf8', from, next), next }
}

const unchunk = (bytes: Buffer): string => {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    chunks.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
  return Buffer.concat(chunks).toString('utf8')
}
