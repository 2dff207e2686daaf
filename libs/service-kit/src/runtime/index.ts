// What a process needs whatever it speaks: settings, start and end, logs, health, metrics, the error that crosses processes.
// It imports no other room. A service's first file and its settings import this one alone, so that settings are checked
// without loading gRPC and PostgreSQL.

export * from './address-limit'
export * from './config'
export * from './health'
export * from './http-urls'
export * from './lifecycle'
export * from './logger'
export * from './loops'
export * from './metrics'
export * from './nats-url'
export * from './retry'
export * from './sealer'
export * from './service-error'
export * from './service-token'
export * from './tls'
export * from './tls-settings'
export * from './trace-context'
export * from './tracing'
export * from './version'
