# The image of the GitHub Action and of ghcr.io/relock-dev/relock.
FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /relock .

FROM alpine:3.22
RUN apk add --no-cache ca-certificates
COPY --from=build /relock /usr/local/bin/relock
# Docker actions run as root: the workspace belongs to it.
ENTRYPOINT ["/usr/local/bin/relock"]
CMD ["action"]
