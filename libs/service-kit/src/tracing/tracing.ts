import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { VERSION } from '../config/version'

// Spans of OpenTelemetry. Without an SDK (`start-tracing.ts`) each function here ends at its first line.

export { SpanKind }

const tracer = trace.getTracer('leadwire', VERSION)

const isRecordedIn = (within: Context): boolean => trace.getSpan(within)?.isRecording() === true

/** Whether traces are collected at all. */
export const isTracing = (): boolean => propagation.fields().length > 0

/** Whether what runs now is part of a trace that is recorded. */
export const isTraced = (): boolean => isRecordedIn(context.active())

/** Marks a span as failed, with the kind of the error; its message may hold data. */
const markFailed = (span: Span, error: unknown): void => {
  const { code, name } = error as { code?: unknown; name?: unknown }
  span.setAttribute('error.type', String(code ?? name))
  span.setStatus({ code: SpanStatusCode.ERROR })
}

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
      markFailed(span, error)
      throw error
    } finally {
      span.end()
    }
  })

/** Runs `work` as a span of the active trace, if there is one that is recorded. */
export const inSpan = <Result>(name: string, options: SpanOptions, work: Work<Result>): Promise<Result> =>
  isTraced() ? runSpan(name, { ...options, parent: context.active() }, work) : work()

/** The same in the trace of a traceparent from another process. */
export const inSpanOf = <Result>(
  traceparent: string | null | undefined,
  { name, ...options }: SpanOptions & { name: string },
  work: Work<Result>,
): Promise<Result> => {
  if (!traceparent) return work()
  const parent = propagation.extract(ROOT_CONTEXT, { traceparent })
  return trace.getSpan(parent) ? runSpan(name, { ...options, parent }, work) : work()
}

/** The traceparent of the active trace; undefined without one. */
export const activeTraceparent = (): string | undefined => {
  if (!trace.getActiveSpan()) return undefined
  const carrier: { traceparent?: string } = {}
  propagation.inject(context.active(), carrier)
  return carrier.traceparent
}

/** The ids of the active span, for log lines. */
export const traceIds = (): { trace_id?: string; span_id?: string } => {
  const span = trace.getActiveSpan()?.spanContext()
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
}

/** The active context, for `sendTogether`. */
export const traceContext = (): Context => context.active()

/**
 * Runs `send` for several callers: as a span of the first recorded trace, linked to the others.
 */
export const sendTogether = async <Result>(
  asked: { trace: Context }[],
  send: () => Promise<Result>,
): Promise<Result> => {
  const first = asked.find(({ trace }) => isRecordedIn(trace))
  if (!first) return context.with(ROOT_CONTEXT, send)
  const others = asked.filter((each) => each !== first && isRecordedIn(each.trace))
  const links = others.map((each) => ({ context: trace.getSpan(each.trace)!.spanContext() }))
  const options = { attributes: { 'leadwire.batch.items': asked.length }, links, parent: first.trace }
  return runSpan('batch', options, send)
}
