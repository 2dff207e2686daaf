import { Channel, type ChannelOptions, credentials } from '@grpc/grpc-js'
import {
  type Client,
  type CompatServiceDefinition,
  createClientFactory,
  type NormalizedServiceDefinition,
} from 'nice-grpc'
import { type DeadlineOptions, deadlineMiddleware } from 'nice-grpc-client-middleware-deadline'
import { HealthDefinition } from 'nice-grpc-server-health'
import { statusToFailures } from './grpc-errors'
import { SERVING } from './grpc-health'
import { GRPC_OPTIONS, STREAM_WINDOW, WINDOW } from './grpc-options'
import type { Lifecycle } from './lifecycle'
import { patienceEnds, patiently } from './patience'
import { retryUnsent } from './retry-unsent'
import { ServiceError } from './service-error'

const CLIENT_OPTIONS: ChannelOptions = {
  ...GRPC_OPTIONS,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // It is given above. The look-up for another one (a TXT record) keeps a process alive for 20 s where no name server
  // answers it, as on a network without a way out.
  'grpc.service_config_disable_resolution': 1,
  // The default grows to two minutes: a service that came back would stay unknown for as long.
  'grpc.initial_reconnect_backoff_ms': 50,
  // How long one attempt to connect may take.
  'grpc.min_reconnect_backoff_ms': 2000,
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.dns_min_time_between_resolutions_ms': 1000,
}

// A peer that is gone without a word is noticed. But grpc-js takes a ping that it can't send any more, because the
// server has said that it will close (its connection age, a drain), for a dead peer and cuts every call still on the
// way: seen as `Connection dropped` in uploads 11 s after the server's GOAWAY. Where calls are long it must be off.
const KEEPALIVE: ChannelOptions = { 'grpc.keepalive_time_ms': 10_000, 'grpc.keepalive_timeout_ms': 10_000 }

const UNARY: ChannelOptions = { ...KEEPALIVE, 'grpc-node.flow_control_window': WINDOW }

const STREAMS: ChannelOptions = {
  'grpc-node.flow_control_window': STREAM_WINDOW,
  // What a call keeps of its messages in case it is sent again. The default is 1 MiB of each upload.
  'grpc.per_rpc_retry_buffer_size': 64 * 1024,
}

export interface GrpcConnection {
  /** A client of one service. Calls fail with ServiceErrors; `deadlineMs` bounds each unless the call says otherwise. */
  client<Definition extends CompatServiceDefinition>(
    definition: Definition,
    options: { deadlineMs: number },
  ): Client<Definition, DeadlineOptions>
  /** Rejects while no copy of the other end is ready to serve (its gRPC health service). */
  check(): Promise<void>
}

/**
 * A connection to every address behind a gRPC target (`host:port`, `dns:///name:port`, `ipv4:a:1,b:2`), balanced
 * round robin. It connects and reconnects by itself; a call fails as `unavailable` when nobody is there for half a
 * second. `longCalls` says that calls may take longer than a few seconds, as streams of files do.
 */
export const connectGrpc = (
  target: string,
  lifecycle: Lifecycle,
  { longCalls = false }: { longCalls?: boolean } = {},
): GrpcConnection => {
  const channel = new Channel(target, credentials.createInsecure(), {
    ...CLIENT_OPTIONS,
    ...(longCalls ? STREAMS : UNARY),
  })
  lifecycle.onStop(`grpc channel ${target}`, () => channel.close())
  // The last one is the outermost: it has to see the deadline's errors too.
  const factory = createClientFactory().use(retryUnsent).use(deadlineMiddleware).use(statusToFailures)
  const health = factory.create(HealthDefinition, channel)
  const askHealth = async () => {
    const { status } = await health.check({ service: '' }, { deadline: 800 })
    if (status !== SERVING) throw new ServiceError('unavailable', 'The service is not ready.')
  }
  return {
    client: <Definition extends CompatServiceDefinition>(
      definition: Definition,
      { deadlineMs }: { deadlineMs: number },
    ) =>
      factory.create(definition, channel, {
        '*': { deadline: deadlineMs },
      } as Partial<
        Record<'*' | keyof NormalizedServiceDefinition<Definition>, DeadlineOptions>
      > as never) as Client<Definition, DeadlineOptions>,
    // One copy that drains says no while others serve: the next call goes to another one.
    check: () => patiently(askHealth, { until: patienceEnds() }),
  }
}
