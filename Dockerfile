# The image for whatever is no step of the action: docker run, steps with
# uses: docker://, GitLab. It takes a program that is built already, so that it holds
# the bytes of the release:
#
#	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -trimpath -o build/linux/amd64/relock .
#	docker build --file Dockerfile --tag relock build
FROM alpine:3.22@sha256:14358309a308569c32bdc37e2e0e9694be33a9d99e68afb0f5ff33cc1f695dce
# git and ssh fetch modules.
RUN apk add --no-cache ca-certificates git openssh-client
ARG TARGETPLATFORM
COPY ${TARGETPLATFORM}/relock /usr/local/bin/relock
# Container actions run as root: the workspace belongs to it.
ENTRYPOINT ["/usr/local/bin/relock"]
CMD ["action"]
