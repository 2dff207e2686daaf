import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { parse } from 'protobufjs'

// The parts of opentelemetry/proto/collector/trace/v1/trace_service.proto that specs use.
const { root } = parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1;
    bytes span_id = 2;
    bytes parent_span_id = 4;
    string name = 5;
    repeated KeyValue attributes = 9;
  }
  message KeyValue { string key = 1; Value value = 2; }
  message Value { string string_value = 1; }`)
const Request = root.lookupType('Request')

type Attributes = { key: string; value?: { stringValue?: string } }[]
type Exported = {
  resourceSpans: {
    resource: { attributes: Attributes }
    scopeSpans: {
      spans: {
        traceId: Uint8Array
        spanId: Uint8Array
        parentSpanId?: Uint8Array
        name: string
        attributes: Attributes
      }[]
    }[]
  }[]
}

/** An exported span. Ids are hexadecimal. */
export type ExportedSpan = {
  service: string | undefined
  traceId: string
  id: string
  parentId: string
  name: string
  attributes: Attributes
}

/** `keys` records the header `x-key` of each request. */
export type Collector = { url: string; spans: ExportedSpan[]; keys: unknown[]; stop(): Promise<void> }

const hex = (bytes: Uint8Array = new Uint8Array()) => Buffer.from(bytes).toString('hex')

const decodeSpans = (body: Buffer): ExportedSpan[] =>
  (Request.decode(body) as unknown as Exported).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes.find(({ key }) => key === 'service.name')?.value?.stringValue
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId, name, attributes }) => ({
        service,
        name,
        attributes,
        traceId: hex(traceId),
        id: hex(spanId),
        parentId: hex(parentSpanId),
      })),
    )
  })

/** Starts a collector for OTLP over HTTP (`POST /v1/traces`, protobuf) that records all spans. */
export async function startCollector(): Promise<Collector> {
  const spans: ExportedSpan[] = []
  const keys: unknown[] = []
  const server = createServer(async (request, response) => {
    const isTrace = request.method === 'POST' && request.url === '/v1/traces'
    const body = await buffer(request)
    keys.push(request.headers['x-key'])
    if (isTrace) spans.push(...decodeSpans(body))
    response.writeHead(isTrace ? 200 : 404, { 'content-type': 'application/x-protobuf' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    keys,
    stop: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
