package sinter

// Version is the version of this module by the rules of https://semver.org.
// CHANGELOG.md says what is in it.
const Version = "0.1.0"
