import { setTimeout as pause } from 'node:timers/promises'
import { VERSION } from '@leadwire/settings'
import { context, DiagLogLevel, diag, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { parseKeyPairsIntoRecord, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Logger } from './logger'

const FLUSH_LIMIT_MS = 2000

/**
 * Starts to send traces by OTLP (protobuf over HTTP). `config` has only the headers. OpenTelemetry reads its
 * other settings from the environment itself.
 */
export const startTracing = (
  service: string,
  config: { OTEL_EXPORTER_OTLP_HEADERS?: string | undefined },
  logger: Logger,
  onStop: (name: string, stop: () => unknown) => void,
): void => {
  const warn = (message: string) => logger.warn({ cause: message }, 'traces')
  diag.setLogger({ error: warn, warn, info: () => {}, debug: () => {}, verbose: () => {} }, DiagLogLevel.WARN)
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': service, 'service.version': VERSION }))
    .merge(detectResources({ detectors: [envDetector] }))
  const headers = async () => parseKeyPairsIntoRecord(config.OTEL_EXPORTER_OTLP_HEADERS)
  const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter({ headers }))]
  const provider = new BasicTracerProvider({ resource, spanProcessors })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  onStop('traces', () =>
    Promise.race([provider.shutdown(), pause(FLUSH_LIMIT_MS, undefined, { ref: false })]),
  )
}
