// Makes the parts of each system that a spec file starts use TLS to each other (system.ts).
process.env.LEADWIRE_TEST_TLS = '1'
