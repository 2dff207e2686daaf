/** One request, as it is sent again and again. */
export type RequestPlan = {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
}

/** Load from a number of connections, each with one request under way. */
export type ClosedLoop = {
  port: number
  connections: number
  /** Each request is one of these, chosen at random. */
  requests: RequestPlan[]
  /** For how long requests are begun; those under way are waited for, and count. */
  seconds: number
  /** At most this many requests. */
  amount?: number
}

/** Load at a fixed rate: a request is begun at its time whether or not the ones before it were answered. */
export type OpenLoop = {
  port: number
  connections: number
  requests: RequestPlan[]
  seconds: number
  perSecond: number
}

/** Milliseconds. */
export type Latency = { p50: number; p90: number; p99: number; max: number }

export type LoadResult = {
  requests: number
  perSecond: number
  bytesSentPerSecond: number
  latency: Latency
  /** How busy the generator's one thread was, 0 … 1: near 1 it is itself what was measured. */
  generatorBusy: number
}

/** When each lead was answered: `at` in milliseconds since 1970, with fractions. */
export type Answers = { references: string[]; at: number[] }

/** A point in time, comparable between the processes of one machine. */
export const wallClock = (): number => performance.timeOrigin + performance.now()
