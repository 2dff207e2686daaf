// Turns on TLS inside every system that a spec file starts: between the services, PostgreSQL and NATS
// (system.ts).
process.env.LEADWIRE_TEST_TLS = '1'
