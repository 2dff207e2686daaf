import { randomUUID } from 'node:crypto'
import { VERSION } from '@leadwire/settings'
import type { Context, Span, SpanOptions } from '@opentelemetry/api'
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

// Makes spans of OpenTelemetry. Without an SDK (`start-tracing.ts`) no span is recorded, and the work simply
// runs.

export { SpanKind }

export const tracer = trace.getTracer('leadwire', VERSION)

const isRecordedIn = (within: Context): boolean => trace.getSpan(within)?.isRecording() === true

export const isTracing = (): boolean => propagation.fields().length > 0

export const isTraced = (): boolean => isRecordedIn(context.active())

type Work<Result> = (span?: Span) => Promise<Result>

const runSpan = <Result>(
  name: string,
  { parent, ...options }: SpanOptions & { parent: Context },
  work: Work<Result>,
): Promise<Result> =>
  tracer.startActiveSpan(name, options, parent, async (span) => {
    try {
      return await work(span)
    } catch (error) {
      // Records only the kind of the error, because its message may contain data.
      const { code, name } = error as { code?: unknown; name?: unknown }
      span.setAttribute('error.type', String(code ?? name))
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      span.end()
    }
  })

/** Runs `work` as a span of the active trace, if that trace is recorded. */
export const inSpan = <Result>(name: string, options: SpanOptions, work: Work<Result>): Promise<Result> =>
  isTraced() ? runSpan(name, { ...options, parent: context.active() }, work) : work()

/** Runs `work` as a span of the trace in a traceparent from another process. */
export const continueTrace = <Result>(
  traceparent: string | null | undefined,
  { name, ...options }: SpanOptions & { name: string },
  work: Work<Result>,
): Promise<Result> => {
  if (!traceparent) return work()
  const parent = propagation.extract(ROOT_CONTEXT, { traceparent })
  return trace.getSpan(parent) ? runSpan(name, { ...options, parent }, work) : work()
}

export const traceIds = (): { trace_id?: string; span_id?: string } => {
  const span = trace.getActiveSpan()?.spanContext()
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
}

/**
 * Runs `send` for several callers, as a span of the first recorded trace. The span is linked to the other
 * traces.
 */
export const sendTogether = async <Result>(
  asked: { trace: Context }[],
  send: () => Promise<Result>,
): Promise<Result> => {
  const [first, ...others] = asked.filter(({ trace }) => isRecordedIn(trace))
  if (!first) return context.with(ROOT_CONTEXT, send)
  const links = others.map((each) => ({ context: trace.getSpan(each.trace)!.spanContext() }))
  const options = { attributes: { 'leadwire.batch.items': asked.length }, links, parent: first.trace }
  return runSpan('batch', options, send)
}

export const activeTraceparent = (): string | undefined => {
  if (!trace.getActiveSpan()) return undefined
  const carrier: { traceparent?: string } = {}
  propagation.inject(context.active(), carrier)
  return carrier.traceparent
}

// The ids of the trace and the span must not be all zeros.
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

// Uses randomUUID, which caches random bytes. randomBytes asks the kernel each time, which took a twelfth of
// the time that the gateway spends on creating a lead.
const randomHex = (digits: number) => randomUUID().replaceAll('-', '').slice(0, digits)

/**
 * Returns a valid traceparent header as it is (W3C Trace Context, version 00). Returns undefined for any
 * other value.
 */
export const parseTraceparent = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && TRACEPARENT.test(header) ? header : undefined

/** Returns the traceparent of a new span below `parent`, or of the first span of a new trace. */
export const newTraceparent = (parent = `00-${randomHex(32)}-${'0'.repeat(16)}-01`): string =>
  `${parent.slice(0, 36)}${randomHex(16)}${parent.slice(52)}`
