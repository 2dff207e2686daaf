// Makes each system of a spec file speak TLS between its parts (system.ts).
process.env.LEADWIRE_TEST_TLS = '1'
