// The code that every process needs, whatever its protocol. Main files and settings import only this file. A
// check of the settings therefore loads neither gRPC nor PostgreSQL.

export * from '@leadwire/settings'
export * from './errors/service-error'
export * from './grpc/service-settings'
export * from './process/health'
export * from './process/lifecycle'
export * from './process/logger'
export * from './process/loops'
export * from './process/metrics'
export * from './security/sealer'
export * from './security/service-token'
export * from './security/tls'
export * from './tracing/tracing'
