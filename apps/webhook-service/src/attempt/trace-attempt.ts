import { inSpanOf, SpanKind } from '@leadwire/service-kit'

/** Makes an attempt a span of its event's trace. `status` names the attribute of what the other side answered. */
export const traceAttempt = <Outcome extends { status: number | null; error: string | null }>(
  traceparent: string | null,
  { name, status }: { name: string; status: string },
  attempt: () => Promise<Outcome>,
): Promise<Outcome> =>
  inSpanOf(traceparent, { name, kind: SpanKind.CLIENT }, async (span) => {
    const outcome = await attempt()
    if (outcome.status !== null) span?.setAttribute(status, outcome.status)
    if (outcome.error !== null) span?.setAttribute('error.type', outcome.error)
    return outcome
  })
