// client.js is made of this package by the gateway's build.
export * from '@leadwire/client'
